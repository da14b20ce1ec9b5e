"""Nodes of decision models against a stand-in; no server of this interface can be installed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.handlers.decisions.member import DecisionsMember
from beam_ensembles.handlers.openai_interface.rows import Messages
from beam_ensembles.handlers.support.call_counts import counting
from beam_ensembles.registry import KINDS
from tests.support.chat_server import ChatServer, Reply, chat_server
from tests.support.nodes import check_node, problems_of, types_of

HERE = Path(__file__).parent
INPUTS = {"ticket": "string", "picture": "bytes"}
QUESTIONS = {
    "angry": "The customer is angry.",
    "product": {"ask": "Which product is it about?", "choices": ["router", "phone"]},
    "urgency": {"ask": "How urgent is it?", "levels": ["low", "high"]},
}
OUTPUTS = {
    "angry": {},
    "product": {},
    "p": {"from": "product_probabilities"},
    "sure": {"from": "product_confidence"},
    "urgency": {},
}


def node(url: str = "https://localhost/v1", **more: Any) -> dict[str, Any]:
    return {
        "model": "decisions",
        "url": url,
        "name": "small",
        "messages": [{"role": "user", "content": "{ticket}"}],
        "questions": QUESTIONS,
        "inputs": ["ticket"],
        "outputs": OUTPUTS,
        "retries": 0,
        **more,
    }


def loaded(server: ChatServer, **more: Any) -> Callable[[Columns], Columns]:
    data = {"ensemble": "test", "inputs": INPUTS, "nodes": {"node": node(server.url, **more)}}
    (checked,) = check_text(json.dumps(data), KINDS, Files(hosts=ANYTHING, is_own=True)).nodes
    return checked.kind.load(checked)


def tickets(*texts: str) -> Columns:
    return {"ticket": np.array(texts, object)}


ANSWERS: list[dict[str, Any]] = [
    {"type": "predicate", "name": "angry", "probability": 0.75},
    {
        "type": "choice",
        "name": "product",
        "choice": "phone",
        "confidence": 0.5,
        "probabilities": [{"value": "phone", "probability": 0.9}, {"value": "router", "probability": 0.1}],
    },
    {
        "type": "score",
        "name": "urgency",
        "score": 0.25,
        "confidence": 1,
        "probabilities": [
            {"label": "low", "value": 0, "probability": 0.75},
            {"label": "high", "value": 1, "probability": 0.25},
        ],
    },
]
REFUSAL = {"type": "refusal", "name": "product"}


def reply(answers: Any) -> Reply:
    usage = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 23,
    }
    return Reply(body=json.dumps({"answers": answers, "model": "m", "usage": usage}).encode())


def test_answers_become_columns() -> None:
    with chat_server(lambda _: reply(ANSWERS)) as server, counting() as counts:
        found = loaded(server)(tickets("it broke", "it broke"))
    assert found["angry"].tolist() == [0.75, 0.75]
    assert found["product"].tolist() == ["phone", "phone"]
    assert found["p"].tolist() == [[0.1, 0.9]] * 2
    assert found["sure"].tolist() == [0.5, 0.5]
    assert found["urgency"].tolist() == [0.25, 0.25]
    (sent,) = server.requests
    assert sent["input"] == [{"role": "user", "content": "it broke"}]
    assert [one["type"] for one in sent["questions"]] == ["predicate", "choice", "score"]
    assert sent["questions"][1]["choices"] == [{"value": "router"}, {"value": "phone"}]
    assert counts.counters == {
        "calls": 1, "shared_rows": 1, "tokens_in": 20, "tokens_out": 3, "tokens_cached": 8,
    }  # fmt: skip


def test_a_refusal_is_the_rows_error_or_null() -> None:
    refused = [ANSWERS[0], REFUSAL, ANSWERS[2]]

    def answer(request: Mapping[str, Any]) -> Reply:
        return reply(refused if "rude" in str(request["input"]) else ANSWERS)

    with chat_server(answer) as server:
        with counting() as counts, pytest.raises(SomeFailed) as caught:
            loaded(server)(tickets("fine", "rude"))
        assert {at: error.code for at, error in caught.value.faults.items()} == {1: "refusal"}
        assert counts.counters["refusals"] == 1
        outputs = {
            "angry": "double",
            "product": "string?",
            "p": {"from": "product_probabilities", "type": "array<double>[2]?"},
        }
        found = loaded(server, outputs=outputs)(tickets("fine", "rude"))
    assert found["angry"].tolist() == [0.75, 0.75]
    assert found["product?"].tolist() == [True, False]
    assert found["p?"].tolist() == [True, False]


def test_pictures() -> None:
    messages = [{"role": "user", "content": ["Look:", {"image": "picture"}]}]
    with chat_server(lambda _: reply(ANSWERS)) as server:
        run = loaded(server, messages=messages, inputs=["picture"])
        run({"picture": np.array([b"\x89PNG\r\n\x1a\n"], object)})
    text, picture = server.requests[0]["input"][0]["content"]
    assert text == {"type": "input_text", "text": "Look:"}
    assert picture == {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def changed(at: int, **more: Any) -> list[dict[str, Any]]:
    return [{**one, **more} if place == at else one for place, one in enumerate(ANSWERS)]


@pytest.mark.parametrize(
    "answers",
    [
        None,
        [],
        ANSWERS[:2],
        ANSWERS[::-1],
        changed(0, probability=1.5),
        changed(0, probability="high"),
        changed(0, probability=None),
        changed(1, choice="tablet"),
        changed(1, choice=["phone"]),
        changed(1, probabilities=None),
        changed(1, probabilities=[{"value": "phone", "probability": 1}]),
        changed(1, name="angry"),
        changed(2, score="low"),
        changed(2, probabilities=[{"label": [], "probability": 1}]),
        changed(2, type="predicate", probability=0.5),
        [1, 2, 3],
    ],
)
def test_other_answers_fail_their_row(answers: Any) -> None:
    with chat_server(lambda _: reply(answers)) as server, pytest.raises(NodeError) as caught:
        loaded(server)(tickets("fine"))
    assert caught.value.code == "bad_output"


class Said:
    """An answer as the client makes one: whatever members the server sent."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.__dict__.update(members)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner).map(Said),
    max_leaves=8,
)
ANY = st.fixed_dictionaries(
    {"type": st.sampled_from(["predicate", "choice", "score", "refusal"]) | JSON},
    optional=dict.fromkeys(("probability", "choice", "confidence", "probabilities", "score", "name"), JSON),
)


class Answering:
    """Calls that are answered with what they are asked."""

    def __init__(self, answers: Any) -> None:
        self._answers = answers

    async def call(self, *_: Any) -> Any:
        return Said({"answers": self._answers})


@settings(max_examples=60, deadline=None)
@given(JSON | st.lists(ANY.map(Said), min_size=3, max_size=3))
def test_any_answer_is_values_or_an_error_of_the_row(answers: Any) -> None:
    checked = check_node(HERE, INPUTS, node())
    member = DecisionsMember(checked, None)  # type: ignore[arg-type]
    messages: Messages = [{"role": "user", "content": "x"}]
    try:
        found = asyncio.run(member._ask(Answering(answers), messages))  # type: ignore[arg-type]
    except NodeError as error:
        found, code = dict.fromkeys(OUTPUTS), error.code
    else:
        code = "bad_output"
    assert set(found) == set(OUTPUTS)
    assert code in ("bad_output", "refusal")


def test_types_and_classes() -> None:
    assert types_of(HERE, INPUTS, node()) == {
        "angry": "double", "product": "string", "p": "array<double>[2]", "sure": "double", "urgency": "double",
    }  # fmt: skip
    checked = check_node(HERE, INPUTS, node())
    assert checked.told["product"].classes == ("router", "phone")
    assert checked.told["p"].classes == ("router", "phone")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"questions": {}}, ("bad_value", "questions")),
        ({"questions": {"a": 3}}, ("bad_value", "questions.a")),
        ({"questions": {"a": {"ask": "x"}}}, ("bad_value", "questions.a")),
        ({"questions": {"a": {"ask": "x", "choices": ["b"]}}}, ("bad_value", "questions.a.choices")),
        ({"questions": {"a": {"choices": ["b", "c"]}}}, ("bad_value", "questions.a.ask")),
        ({"questions": {"a": {"ask": "x", "choice": []}}}, ("unknown_option", "questions.a.choice")),
        ({"outputs": {"angri": {}}}, ("unknown_port", "outputs.angri")),
        ({"outputs": {"product": "double"}}, ("type_mismatch", "outputs.product")),
        ({"messages": []}, ("bad_value", "messages")),
        ({"inference_args": {"questions": []}}, ("unsupported_option", "inference_args.questions")),
        ({"url": "https://elsewhere.example.com/v1"}, ("untrusted_host", "url")),
    ],
)
def test_mistakes(more: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problem in problems_of(HERE, INPUTS, node(**more))
