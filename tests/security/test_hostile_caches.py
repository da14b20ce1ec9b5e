"""Databases of a ``cache`` that answer with anything: they cost answers, neither rows nor a worker's memory."""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.execution.answer_cache import AnswerCache, cache_of
from tests.security.test_hostile_databases import Relay, endless_rows, postgres, relay, resident_bytes
from tests.support.nodes import check_node
from tests.unit.execution.test_answer_cache import INPUTS, Asked, answered, ask, node, xs

__all__ = ["postgres", "relay"]
_MANY = 12_000_000
"""Objects of three bytes each that take more than the largest JSON may as Python's."""


def row_of(*values: bytes | None) -> bytes:
    """Returns a row as PostgreSQL sends it."""
    fields = b"".join(
        struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value for value in values
    )
    content = struct.pack(">h", len(values)) + fields
    return b"D" + struct.pack(">I", len(content) + 4) + content


def key_in(row: bytes) -> bytes:
    """Returns the key in a row that is on its way."""
    (length,) = struct.unpack(">i", row[7:11])
    return row[11 : 11 + length]


def no_key(row: bytes) -> Iterator[bytes]:
    yield row_of(None, b"[1, null]")


def no_answer(row: bytes) -> Iterator[bytes]:
    yield row_of(key_in(row), None)


def no_text(row: bytes) -> Iterator[bytes]:
    yield row_of(key_in(row), b"\xff")


def other_key(row: bytes) -> Iterator[bytes]:
    yield row_of(b"\\x00", b"[1, null]")


def one_column(row: bytes) -> Iterator[bytes]:
    yield row_of(key_in(row))


def many_values(row: bytes) -> Iterator[bytes]:
    yield row_of(key_in(row), b"[" + b"{}," * _MANY + b"{}]")


@pytest.fixture
def cache(tmp_path: Path, relay: Relay, monkeypatch: pytest.MonkeyPatch) -> Iterator[AnswerCache]:
    url = f"postgresql+psycopg://tester:pass%2Fw%40rd@localhost:{relay.port}/postgres?sslmode=disable"
    monkeypatch.setenv("TEST_DB", url)
    found = cache_of(check_node(tmp_path, INPUTS, node(cache={"uri": {"secret": "env:TEST_DB"}})))
    assert found is not None
    yield found
    relay.lie = None
    found.store.close()


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (no_key, "TypeError"),
        (no_answer, "is not a text"),
        (no_text, "UnicodeDecodeError"),
        (other_key, ""),
        (one_column, "DatabaseError"),
        (many_values, "would take up to"),
        (endless_rows, "OperationalError"),
    ],
)
def test_a_cache_that_lies_costs_answers_and_no_rows(
    lie: Any, said: str, relay: Relay, cache: AnswerCache, caplog: pytest.LogCaptureFixture
) -> None:
    """A null ended the bundle, and 60 MB of empty objects took three gigabytes."""
    answered(cache, Asked(), 1)
    relay.lie = lie
    member, begin, before = Asked(), time.monotonic(), resident_bytes()
    with caplog.at_level(logging.WARNING):
        found, faults = cache.answer(member, xs(1, 2), ask)
    assert said in caplog.text
    assert (member.rows, found["y"].tolist(), faults) == ([1, 2], [2, 4], {})
    cache.store.flush()
    assert time.monotonic() - begin < 30.0
    assert resident_bytes() < before + (700 << 20)
