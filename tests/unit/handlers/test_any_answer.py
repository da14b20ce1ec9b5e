"""Whatever a server of OpenAI's interface sends becomes typed values or a row's error, never another exception."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.registry import KINDS
from tests.support.chat_server import Reply, chat_server

USER = [{"role": "user", "content": "{ticket}"}]
USAGE = {
    "prompt_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 2},
    "completion_tokens": 5,
    "total_tokens": 12,
}
LOGPROBS = [
    {
        "token": '{"mood":"good"}',
        "logprob": -0.5,
        "bytes": None,
        "top_logprobs": [{"token": "x", "logprob": -2, "bytes": None}],
    }
]
NODES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "chat": (
        {
            "messages": USER,
            "choices": {"mood": ["good", "bad"]},
            "probabilities": True,
            "outputs": {"mood": "string", "probabilities": {}},
        },
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": '{"mood":"good"}', "refusal": None},
                    "finish_reason": "stop",
                    "logprobs": {"content": LOGPROBS, "refusal": None},
                }
            ],
            "usage": USAGE,
        },
    ),
    "embed": (
        {"outputs": {"vector": "array<float>[2]"}},
        {
            "object": "list",
            "data": [{"object": "embedding", "index": 0, "embedding": [1, 0.5]}],
            "model": "m",
            "usage": USAGE,
        },
    ),
    "decisions": (
        {
            "messages": USER,
            "questions": {
                "angry": "The customer is angry.",
                "product": {"ask": "Which?", "choices": ["a", "b"]},
            },
            "outputs": {"angry": "double?", "product": "string?"},
        },
        {
            "answers": [
                {"type": "predicate", "name": "angry", "probability": 0.75},
                {
                    "type": "choice",
                    "name": "product",
                    "choice": "a",
                    "confidence": 0.5,
                    "probabilities": [{"value": "a", "probability": 0.9}, {"value": "b", "probability": 0.1}],
                },
            ],
            "model": "m",
            "usage": {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23},
        },
    ),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def with_another(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    found = copy.deepcopy(value)
    holder = found
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = other
    return found


def bodies(right: Any) -> st.SearchStrategy[bytes]:
    """Any bytes, a right answer cut off or with a byte changed, and one with another value somewhere."""
    whole = json.dumps(right).encode()
    cut = st.integers(0, len(whole)).map(lambda end: whole[:end])
    changed = st.tuples(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=1)).map(
        lambda at: whole[: at[0]] + at[1] + whole[at[0] + 1 :]
    )
    other = st.tuples(st.sampled_from(list(places(right))), JSON).map(
        lambda pair: json.dumps(with_another(right, *pair)).encode()
    )
    return st.one_of(st.binary(), cut, changed, other, other)


@pytest.mark.parametrize("kind", NODES)
def test_any_bytes_are_values_or_the_error_of_a_row(kind: str) -> None:
    own, right = NODES[kind]
    sent = [b""]

    with chat_server(lambda _: Reply(body=sent[0])) as server:
        node = checked(kind, server.url, own)
        run: Callable[..., Any] = node.kind.load(node)
        sent[0] = json.dumps(right).encode()
        assert set(run({"ticket": np.array(["it broke"], object)})) >= set(node.outputs)

        @given(bodies(right))
        @settings(max_examples=60)
        def test(body: bytes) -> None:
            sent[0] = body
            calls = len(server.requests)
            found = outcome(run)
            assert found in ("bad_output", "refusal") or set(found) >= set(node.outputs)
            assert len(server.requests) == calls + 1

        test()


def outcome(run: Callable[..., Any]) -> Any:
    """Returns the columns of a row, or the code of its error."""
    try:
        return run({"ticket": np.array(["it broke"], object)})
    except NodeError as error:
        return error.code


def checked(kind: str, url: str, own: dict[str, Any]) -> CheckedNode:
    node = {"model": kind, "url": url, "name": "m", "inputs": ["ticket"], "retries": 0, **own}
    data = {"ensemble": "test", "inputs": {"ticket": "string"}, "nodes": {"node": node}}
    return check_text(json.dumps(data), KINDS, Files(hosts=ANYTHING, is_own=True)).nodes[0]


@pytest.mark.parametrize("index", [[0], {"0": 0}, None, "0", 1.5])
def test_vectors_that_are_numbered_by_something_else(index: object) -> None:
    own, right = NODES["embed"]
    body = json.dumps(with_another(right, ("data", 0, "index"), index)).encode()
    with chat_server(lambda _: Reply(body=body)) as server:
        node = checked("embed", server.url, own)
        with pytest.raises(NodeError, match="numbered from 0"):
            node.kind.load(node)({"ticket": np.array(["it broke"], object)})


@pytest.mark.parametrize("number", [10**400, 10**39])
def test_a_number_that_is_too_large_is_the_error_of_its_row(number: int) -> None:
    """The client itself fails on the first, which no float holds."""
    own, right = NODES["embed"]

    def answer(request: dict[str, Any]) -> Reply:
        first = number if request["input"] == ["bad"] else 2
        return Reply(body=json.dumps(with_another(right, ("data", 0, "embedding", 0), first)).encode())

    with chat_server(answer) as server:
        node = checked("embed", server.url, {**own, "together": 1})
        with pytest.raises(SomeFailed) as caught:
            node.kind.load(node)({"ticket": np.array(["good", "bad", "fair"], object)})
    ((at, error),) = caught.value.faults.items()
    assert (at, error.code) == (1, "bad_output")
    assert "large" in error.message
    assert len(server.requests) == 3  # what was answered is not asked again
