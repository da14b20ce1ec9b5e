"""Language models, and servers that pretend to be one, whose answers are costly to read."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.handlers.chat.answers import Answers
from beam_ensembles.handlers.chat.label_probabilities import probabilities_of, tokens_of
from beam_ensembles.handlers.openai_interface import calls, client
from beam_ensembles.types import parse_type
from tests.support.chat_server import Reply, chat_server
from tests.unit.handlers.chat.test_chat import loaded

_MANY = 3_000_000
"""Objects of three bytes each that take more than the largest JSON may as Python's."""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[" * 100_000, "the answer is nested too deep"),
        (b'{"choices":' * 100_000, "the answer is nested too deep"),
        (b'{"id":"1","choices":[' + b"{}," * _MANY + b"{}]}", "would take up to"),
        (b'{"id":"1","choices":[{"message":{"content":"' + b"{}," * _MANY + b'"}}]}', "would take up to"),
    ],
)
def test_an_answer_that_is_costly_to_read_fails_its_row(body: bytes, said: str) -> None:
    """One that is nested deep failed the whole bundle, and one of 84 MB took two gigabytes."""
    with chat_server(lambda _: Reply(body=body)) as server, pytest.raises(NodeError) as raised:
        loaded(server)({"ticket": np.array(["t"], object)})
    assert raised.value.code == "bad_output"
    assert said in raised.value.message


@pytest.mark.parametrize(
    "text", ["```" + "\n" * 20_000 + "x", "```" + " \n" * 20_000 + "```x", "```" * 20_000]
)
def test_a_fenced_block_without_an_end_is_found_in_linear_time(text: str) -> None:
    """2,000 empty lines took nine seconds, and held up the whole worker; time grew with their cube."""
    begin = time.monotonic()
    with pytest.raises(NodeError, match="the answer is not JSON"):
        Answers({"a": parse_type("double")}, {}).read(text)
    assert time.monotonic() - begin < 5.0


@pytest.mark.parametrize("fence", ["```json\n%s\n```", " ```\n%s\n``` \n", "```json \n%s  \n  ```", "%s"])
def test_a_fenced_block_is_read(fence: str) -> None:
    text = fence % json.dumps({"a": 1.5})
    assert Answers({"a": parse_type("double")}, {}).read(text) == {"a": 1.5}


def test_an_escaped_answer_that_is_costly_to_read_is_not_read() -> None:
    """The server's own answer holds it as a text, whose marks need not be visible there."""
    with pytest.raises(NodeError, match="would take up to"):
        Answers({"a": parse_type("double")}, {}).read("[" + "{}," * _MANY + "{}]")


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [(400, "model_error", "refuses the request"), (200, "bad_output", "no 'choices'")],
)
@pytest.mark.parametrize("encoding", ["punycode", "zlib", "rot13", "idna", "undefined"])
def test_a_server_does_not_choose_how_its_answer_is_decoded(
    encoding: str, status: int, code: str, said: str
) -> None:
    """Punycode takes the square of the time: an answer of 80 kB took ten seconds, whatever the node's timeout."""
    headers = {"Content-Type": f"text/plain; charset={encoding}"}
    body = b"a-" + b"b" * 500_000
    begin = time.monotonic()
    with (
        chat_server(lambda _: Reply(status=status, headers=headers, body=body)) as server,
        pytest.raises(NodeError, match=said) as raised,
    ):
        loaded(server)({"ticket": np.array(["t"], object)})
    assert raised.value.code == code
    assert time.monotonic() - begin < 20.0


def test_the_answers_to_a_batch_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a thousand rows could take 256 MiB, and the worker was killed."""
    monkeypatch.setattr(calls, "LARGEST_ANSWER", 10_000)
    columns = {"ticket": np.array([str(at) for at in range(50)], object)}
    more = {"text": True, "outputs": {"mood": "string"}, "concurrency": 1}
    with chat_server(lambda _: Reply(text="x" * 1_000)) as server, pytest.raises(SomeFailed) as raised:
        loaded(server, **more)(columns)
    faults = raised.value.faults
    assert len(raised.value.columns["mood"]) == 9
    assert {(error.code, "together; lower 'batch.max'" in error.message) for error in faults.values()} == {
        ("bad_output", True)
    }
    assert len(server.requests) == 10  # nobody pays for answers that are not taken


def test_answers_that_come_at_one_time_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST_ANSWER", 1 << 20)
    columns = {"ticket": np.array([str(at) for at in range(8)], object)}
    more = {"text": True, "outputs": {"mood": "string"}, "concurrency": 8}
    gate = threading.Barrier(8)

    def together(_: object) -> Reply:
        gate.wait(60)
        return Reply(text="x" * 1_000_000)

    with chat_server(together) as server, pytest.raises(SomeFailed) as raised:
        loaded(server, **more)(columns)
    assert all("come at one time" in error.message for error in raised.value.faults.values())


def token(text: bytes, others: Sequence[bytes] = ()) -> Any:
    """Returns a token as the client reads it."""
    alternatives = [SimpleNamespace(bytes=list(other), logprob=-1.0) for other in others]
    return SimpleNamespace(bytes=list(text), logprob=0.0, top_logprobs=alternatives)


@pytest.mark.parametrize(
    "between",
    [[token(b"")] * 40_000, [token(b"", [b"g", b"u"] * 10)] * 10_000, [token(b"g", [b"u"] * 200_000)]],
)
def test_tokens_without_an_end_are_read_in_linear_time(between: Sequence[Any]) -> None:
    """8,000 empty tokens took ten seconds, and time grew with their square."""
    content = [token(b'{"mood": "'), token(b"ne"), *between, token(b'utral"}')]
    if between[-1].bytes:
        content[-1] = token(b'ative"}')
    value = "negative" if between[-1].bytes else "neutral"
    labels = ["negative", "neutral", *(f"neutral {at}" for at in range(500))]
    begin = time.monotonic()
    tokens = tokens_of(SimpleNamespace(logprobs=SimpleNamespace(content=content)))
    found = probabilities_of(tokens, "mood", value, labels)
    assert found is not None
    assert max(found) == found[labels.index(value)]
    assert time.monotonic() - begin < 20.0
