"""Rows whose lengths lie: a worker refuses them, and neither ends nor gives away bytes of its memory."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import strategies as st

from beam_ensembles.beam_repairs.bounded_rows import check
from beam_ensembles.beam_repairs.row_coder import PositionalRowCoder, row_class
from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.errors import EnsembleError
from beam_ensembles.types import parse_type
from tests.support.fuzzing import Target, fuzz, mutated, target

ROWS: Final[dict[str, Any]] = {
    "double": 1.5,
    "string": "text",
    "string?": None,
    "bytes": b"bytes",
    "int64": -7,
    "boolean": True,
    "timestamp?": None,
    "array<double>": [1.0, 2.0],
    "array<float>": [1.5, 2.5],
    "array<int16>": [-1, 2],
    "array<int64>": [1, -2, 3],
    "array<boolean>": [True, False],
    "array<string?>": ["one", None],
    "array<array<double>>": [[1.0], []],
    "array<map<string, int64>>": [{"one": 1}, {}],
    "array<double?>": [1.0, None],
    "array<bytes>": [b"one", b""],
    "map<string, double>": {"one": 1.0},
    "map<int64, double>": {1: 1.0},
    "map<string, array<string>>": {"one": ["two"]},
    "row<a: string, b: double?>": row_class(("a", "b"))("one", None),
    "row<a: string, b: array<int64>>": row_class(("a", "b"))("one", [1]),
    "array<row<a: double, b: double>>": [row_class(("a", "b"))(1.0, 2.0)],
}
"""A value of every shape that rows have."""


def coder_of(type_: str) -> PositionalRowCoder:
    return PositionalRowCoder(schema_of([("x", parse_type(type_))]))


ENCODED: Final = {type_: coder_of(type_).encode(row_class(("x",))(value)) for type_, value in ROWS.items()}


@pytest.mark.parametrize("type_", list(ROWS))
def test_a_row_is_read_as_it_was_written(type_: str) -> None:
    coder = coder_of(type_)
    assert coder.encode(coder.decode(ENCODED[type_])) == ENCODED[type_]


LIES: Final = {
    "a text": ("string", b"\x01\x00\xff\x7fabc"),
    "a negative text": ("string", b"\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abc"),
    "a mask": ("string?", b"\x01\xff\xff\xff\x7f\x01"),
    "bytes": ("bytes", b"\x01\x00\xff\xff\xff\xff\x7fabc"),
    "a number at the end": ("double", b"\x01\x00\x00\x00"),
    "a text in a row": ("row<a: string>", b"\x01\x00\x01\x00\xff\x7fabc"),
    "a list a little too long": ("array<double>", b"\x01\x00\x00\x00\x00\x03" + bytes(16)),
    "a long list of doubles": ("array<double>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of small numbers": ("array<int16>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of whole numbers": ("array<int64>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of booleans": ("array<boolean>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of texts": ("array<string>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of bytes": ("array<bytes>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of nulls": ("array<double?>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of times": ("array<timestamp>", b"\x01\x00\x7f\xff\xff\xff" + 4 * b"\x02\x00\x01\x01"),
    "a long list of rows": ("array<row<a: double>>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of lists": ("array<array<double>>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long list of maps": ("array<map<string, double>>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long map of texts": ("map<string, double>", b"\x01\x00\x7f\xff\xff\xff\x01a" + bytes(16)),
    "a long map of numbers": ("map<int64, double>", b"\x01\x00\x7f\xff\xff\xff" + bytes(16)),
    "a long block": ("array<double>", b"\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(16)),
    "a list that a runner holds": ("array<double>", b"\x01\x00\xff\xff\xff\xff" + b"\xff" * 9 + b"\x01"),
    "a text in a list": ("array<string>", b"\x01\x00\x00\x00\x00\x01\xff\xff\xff\x7fabc"),
}


@pytest.mark.parametrize("lie", list(LIES))
def test_a_length_that_lies_is_refused(lie: str) -> None:
    type_, data = LIES[lie]
    with pytest.raises(EnsembleError, match="an incoming row is malformed"):
        coder_of(type_).decode(data)


def attack(value: tuple[str, bytes]) -> Any:
    """Reads a message of several rows as a worker does, and writes them again."""
    type_, data = value
    coder, found = coder_of(type_), b""
    stream, impl = coder.stream(data), coder.get_impl()
    left = check(stream)
    while left > 0:
        row = impl.decode_from_stream(stream, True)
        left = check(stream)
        found += coder.encode(row)
    return len(found)


@pytest.fixture(scope="module")
def worker() -> Iterator[Target]:
    with target(f"{__name__}:attack", most_bytes=256 << 20) as found:
        yield found


def test_a_list_whose_writer_did_not_know_its_length_is_read() -> None:
    data = (
        b"\x01\x00\xff\xff\xff\xff\x02"
        + struct.pack(">2d", 1.0, 2.0)
        + b"\x01"
        + struct.pack(">d", 3.0)
        + b"\x00"
    )
    assert coder_of("array<double>").decode(data) == ([1.0, 2.0, 3.0],)


@fuzz(
    st.sampled_from(list(ROWS)).flatmap(lambda type_: st.tuples(st.just(type_), mutated(3 * ENCODED[type_])))
)
def test_mutated_rows_never_end_the_worker_or_give_away_its_memory(
    worker: Target, drawn: tuple[str, bytes]
) -> None:
    outcome = worker.attack(drawn)
    assert outcome.kind in ("answered", "raised"), outcome
    if outcome.kind == "answered":
        assert outcome.value <= 12 * len(drawn[1]) + 64
