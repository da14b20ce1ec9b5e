"""The types with which rows cross, and other layouts of Arrow's made such."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from beam_ensembles.columns.arrow_batch import ArrowReader
from beam_ensembles.columns.arrow_rows import ArrowRows
from beam_ensembles.columns.arrow_types import arrow_type, beyond_micros, in_wire_layout, is_layout_of
from beam_ensembles.tables.arrow import type_of_arrow
from beam_ensembles.types import parse_type

NOON = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)
MICROS = int(NOON.timestamp()) * 1_000_000
MIDNIGHT = MICROS - 12 * 3600 * 10**6
NANOS = pa.timestamp("ns", tz="UTC")


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("string", "string"),
        ("bytes?", "binary"),
        ("boolean", "bool"),
        ("int32", "int32"),
        ("float", "float"),
        ("double", "double"),
        ("timestamp", "int64"),
        ("array<double?>", "list<item: double>"),
        ("array<float>[2,3]", "list<item: float not null>"),
        ("map<string,int64?>", "map<string, int64>"),
        ("row<a: string, b: array<bytes?>?>", "struct<a: string not null, b: list<item: binary>>"),
    ],
)
def test_every_type_has_one_layout(type_: str, text: str) -> None:
    assert str(arrow_type(parse_type(type_))) == text
    assert is_layout_of(arrow_type(parse_type(type_)), parse_type(type_))


@pytest.mark.parametrize(
    ("found", "type_"),
    [
        (pa.int64(), "int32"),
        (pa.large_string(), "string"),
        (pa.timestamp("us"), "timestamp"),
        (pa.string(), "array<string>"),
        (pa.list_(pa.string()), "map<string,string>"),
        (pa.struct([("b", pa.string())]), "row<a: string>"),
        (pa.map_(pa.string(), pa.int32()), "map<string,int64>"),
    ],
)
def test_other_layouts_are_none_of_it(found: pa.DataType, type_: str) -> None:
    assert not is_layout_of(found, parse_type(type_))


@pytest.mark.parametrize(
    ("array", "type_", "values"),
    [
        (pa.array(["a", "b", "a"]).dictionary_encode(), "string", ["a", "b", "a"]),
        (pa.array(["a", None], pa.large_string()), "string?", ["a", None]),
        (pa.array([b"a"], pa.large_binary()), "bytes", [b"a"]),
        (pa.array([NOON, None], pa.timestamp("s", tz="UTC")), "timestamp?", [MICROS, None]),
        (pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us")), "timestamp", [MICROS]),
        (pa.array([MICROS * 1_000 + 999], NANOS), "timestamp", [MICROS]),
        (pa.array([[NOON], []], pa.large_list(NANOS)), "array<timestamp>", [[MICROS], []]),
        (pa.array([[NOON]], pa.list_(NANOS, 1)), "array<timestamp>", [[MICROS]]),
        (
            pa.array([[("k", NOON)]], pa.map_(pa.large_string(), NANOS)),
            "map<string,timestamp>",
            [[("k", MICROS)]],
        ),
        (pa.array([NOON.date(), None], pa.date32()), "timestamp?", [MIDNIGHT, None]),
        (pa.array([[NOON.date()]], pa.list_(pa.date64())), "array<timestamp>", [[MIDNIGHT]]),
        (pa.array([{"t": NOON}], pa.struct([("t", NANOS)])), "row<t: timestamp>", [{"t": MICROS}]),
    ],
)
def test_arrays_of_python_pipelines_are_read_in_the_layout_that_crosses(
    array: pa.Array, type_: str, values: list[Any]
) -> None:
    made = in_wire_layout(array)
    assert is_layout_of(made.type, parse_type(type_))
    assert made.to_pylist() == values


@pytest.mark.parametrize(("unit", "micros"), [("s", 10**6), ("ms", 10**3), ("us", 1), ("ns", 1)])
def test_a_point_in_time_may_be_too_far_away_to_be_counted_in_microseconds(unit: str, micros: int) -> None:
    most = (2**63 - 1) // micros
    array = pa.array([most, -most, None, 0], pa.timestamp(unit))
    assert beyond_micros(array) is None
    if micros > 1:
        beyond = beyond_micros(pa.array([most + 1, 0, -most - 1, None, 2**63 - 1], pa.timestamp(unit)))
        assert beyond is not None
        assert beyond.tolist() == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.list_(pa.timestamp("s")), [[0], [0, 2**62], [], None, [None, 2**62]]),
        (pa.large_list(pa.timestamp("ms")), [[0], [0, 2**62], [], None, [-(2**62)]]),
        (pa.list_(pa.timestamp("s"), 1), [[0], [2**62], [5], None, [2**62]]),
        (pa.struct([("n", pa.int8()), ("t", pa.timestamp("s"))]), [{}, {"t": 2**62}, {}, None, {"t": 2**62}]),
        (pa.map_(pa.string(), pa.timestamp("s")), [{}, {"a": 0, "b": 2**62}, {"c": 1}, None, {"a": 2**62}]),
        (
            pa.list_(pa.struct([("t", pa.list_(pa.timestamp("s")))])),
            [[{}], [{"t": [1]}, {"t": [2**62]}], [], None, [{"t": [2**62]}]],
        ),
    ],
)
def test_a_point_in_time_within_a_value_may_be_too_far_away(type_: pa.DataType, values: list[Any]) -> None:
    given = [list(value.items()) if pa.types.is_map(type_) and value else value for value in values]
    array = pa.array([None, *given], type_)
    for found in (beyond_micros(array), beyond_micros(array.slice(1))):
        assert found is not None
        assert found.tolist()[-5:] == [False, True, False, False, True]
    assert beyond_micros(array.take(pa.array([0, 1, 3]))) is None


def test_a_date_may_be_too_far_away() -> None:
    days = 2**63 // (86_400 * 10**6)
    beyond = beyond_micros(pa.array([days, -days, None, days + 1, -days - 1], pa.int32()).cast(pa.date32()))
    assert beyond is not None
    assert beyond.tolist() == [False, False, False, True, True]


class Program(pa.ExtensionType):
    """A type that a program defines: it has no hash, as few have."""

    def __init__(self) -> None:
        super().__init__(pa.int32(), "tests.program")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def test_a_type_that_a_program_defines_has_no_word_in_the_language() -> None:
    assert type_of_arrow(Program()) is None


def test_points_in_time_are_arrows_own_in_a_python_pipeline_and_microseconds_elsewhere() -> None:
    added = (("t", parse_type("array<timestamp?>")),)
    column = np.fromiter([[None], []], dtype=object, count=2)
    batch = pa.RecordBatch.from_pydict({"x": [1, 2]})
    rows = ArrowRows((("x", parse_type("int64")),), added, (0, 1), batch.schema)
    made = ArrowReader(rows).read(batch).scored(np.arange(2), [(column, None)])
    assert made.schema.field("t").type == pa.list_(pa.timestamp("us", tz="UTC"))
    assert made.to_pydict() == {"x": [1, 2], "t": [[None], []]}
