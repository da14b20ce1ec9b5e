"""The types that all values of a field of untyped rows have in common, and that Arrow can hold them all."""

from __future__ import annotations

import datetime
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beam_ensembles.tables.arrow import array_of, arrow_type
from beam_ensembles.tables.column_types import Survey
from beam_ensembles.types import parse_type

BIG = 2**53 + 1
NOON = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)


def field_of(*chunks: list[Any]) -> pa.Field:
    survey = Survey({})
    for values in chunks:
        survey.add([{"f": value} for value in values])
    return survey.schema().field("f")


@pytest.mark.parametrize(
    ("chunks", "type_"),
    [
        ([[1, None], [2]], pa.int64()),
        ([[1], [2.5]], pa.float64()),
        ([[2.5], [None], [1]], pa.float64()),
        ([[BIG], [1]], pa.int64()),
        ([[True], [None]], pa.bool_()),
        ([[None], [None]], pa.string()),
        ([[[]], [[1]], [[2.5]]], pa.list_(pa.float64())),
        ([[[]], [None]], pa.list_(pa.string())),
        ([[{"a": 1}], [{"b": "x"}], [{"a": 0.5}]], pa.struct([("a", pa.float64()), ("b", pa.string())])),
    ],
)
def test_a_common_type(chunks: list[list[Any]], type_: pa.DataType) -> None:
    found = field_of(*chunks)
    assert found.type == type_
    assert found.metadata is None


@pytest.mark.parametrize(
    "chunks",
    [
        [[1], ["a"]], [["a"], [1]], [[1, "a"]], [[BIG], [0.5]], [[0.5], [BIG]], [[[BIG]], [[0.5]]], [[2**70]],
        [[{"a": BIG}], [{"a": 0.5}]], [[True], [1]], [[[1]], [1]], [[{}]], [[[{}]]], [[{"a": {}}]],
    ],
)  # fmt: skip
def test_without_a_common_type_values_are_json_text(chunks: list[list[Any]]) -> None:
    found = field_of(*chunks)
    assert found.type == pa.string()
    assert found.metadata == {b"content": b"json"}


def test_fields_that_the_ensemble_reads_are_as_declared() -> None:
    survey = Survey({"x": parse_type("array<double>[2,2]")})
    survey.add([{"y": 1, "x": [[1, 2], [3, 4]]}])
    assert survey.schema() == pa.schema([("y", pa.int64()), ("x", pa.list_(pa.float64()))])
    field, declared = survey.schema().field("x"), parse_type("array<double>[2,2]")
    assert array_of([[[1, 2], [3, 4]]], field, declared).to_pylist() == [[1.0, 2.0, 3.0, 4.0]]


@pytest.mark.parametrize("text", ["double?", "array<double>[2]?", "timestamp?"])
@pytest.mark.parametrize("values", [[None, None], [None, 1, None]])
def test_fields_that_the_ensemble_reads_may_be_null(text: str, values: list[Any]) -> None:
    given: dict[str, Any] = {"double?": 1.0, "timestamp?": NOON}
    filled = [None if value is None else given.get(text, [1.0, 2.0]) for value in values]
    declared = parse_type(text)
    found = array_of(filled, pa.field("x", arrow_type(declared)), declared)
    assert found.to_pylist() == filled


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
)


@hypothesis.given(st.lists(st.lists(JSON, min_size=1, max_size=3), min_size=1, max_size=3))
def test_whatever_the_values_are_they_can_be_written(chunks: list[list[Any]]) -> None:
    field = field_of(*chunks)
    table = pa.table(
        [pa.chunked_array([array_of(values, field, None) for values in chunks])], pa.schema([field])
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    found = pq.read_table(pa.BufferReader(sink.getvalue())).column("f").to_pylist()
    assert [value is None for value in found] == [value is None for values in chunks for value in values]
