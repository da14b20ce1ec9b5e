"""How logs look, and what may not be in them."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from beam_ensembles import logs
from beam_ensembles.errors import NodeError, NodeFailed, RowFailed
from beam_ensembles.handlers.support import retrying


def record(text: str = "said %d", *args: object, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("some.logger", logging.WARNING, __file__, 1, text, args or (7,), None)
    made.created, made.msecs = 1_700_000_000.5, 500
    vars(made).update(logs.with_fields(**fields))
    return made


def test_json_is_an_object_a_line() -> None:
    with logs.about("digits", "forest"):
        line = logs.formatter("json", "w1").format(record(seconds=0.25, nothing=None))
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.500+00:00",
        "level": "WARNING",
        "logger": "some.logger",
        "message": "said 7",
        "worker": "w1",
        "ensemble": "digits",
        "node": "forest",
        "seconds": 0.25,
    }


def test_json_stays_on_a_line_and_has_the_traceback() -> None:
    made = record("two\nlines %d")
    try:
        raise ValueError("why")
    except ValueError:
        made.exc_info = sys.exc_info()
    line = logs.formatter("json").format(made)
    assert "\n" not in line
    assert "ValueError: why" in json.loads(line)["exception"]


def test_text_has_the_fields_in_front() -> None:
    with logs.about("digits", "forest"):
        line = logs.formatter("text", "w1").format(record(client="ipv4:1 grpc", seconds=1.5))
    fields = 'ensemble=digits node=forest client="ipv4:1 grpc" seconds=1.500'
    assert line.endswith(f" WARNING worker w1 some.logger: {fields} said 7")


def test_outside_of_a_node_nothing_is_named() -> None:
    with logs.about("digits"):
        assert logs.prefix_of(record()) == "ensemble=digits "
    assert logs.prefix_of(record()) == ""


@pytest.mark.parametrize("made", [RowFailed, NodeFailed])
def test_a_failed_bundle_does_not_quote_the_row(
    made: type[RowFailed], monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = NodeError.of(ValueError("could not convert string to float: 'MARKER'"))
    error = made("digits", "forest", cause.code, cause.message)
    assert "[model_error] nodes.forest: ValueError: " in str(error)
    assert "MARKER" not in str(error)
    assert "MARKER" in error.message, "for the error output"
    monkeypatch.setenv(logs.LOG_ROWS_VARIABLE, "1")
    assert "MARKER" in str(error)


@pytest.mark.parametrize("code", ["wrong_value", "unknown_label", "key_not_found", "one_that_comes_later"])
def test_whatever_may_quote_a_row_is_left_out(code: str) -> None:
    error = RowFailed("digits", "forest", code, "MARKERError: 'MARKER' is not allowed")
    assert "MARKER" not in str(error)
    assert f"[{code}] nodes.forest" in str(error)


def test_lengths_and_nulls_are_said() -> None:
    error = RowFailed("digits", "", "wrong_length", "input 'x' holds 3 values, array<double>[4] needs 4")
    assert "input 'x' holds 3 values, array<double>[4] needs 4" in str(error)


@pytest.mark.parametrize(
    ("said", "logged"),
    [
        ("beam_ensembles.calls.CallError: UNAVAILABLE: MARKER\n", "CallError: UNAVAILABLE"),
        ("some.Unreachable: MARKER: no", "Unreachable"),
        ("ValueError", "ValueError"),
    ],
)
def test_a_retry_does_not_quote_the_server(
    said: str, logged: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    retrying._log("", 0.5, "call", said, "")
    assert caplog.messages == [f"trying again in 0.5 s: {logged}"]
    monkeypatch.setenv(logs.LOG_ROWS_VARIABLE, "1")
    retrying._log("", 0.5, "call", said, "")
    assert caplog.messages[1] == f"trying again in 0.5 s: {said.strip()}"
