"""Language models, and servers that pretend to be one, whose answers are costly to read."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.chat.answers import Answers
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
