"""Beam's logical types: which types of the language they are, and their values as columns and callers have them."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from apache_beam.portability.api import schema_pb2
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.beam_repairs.row_coder import PositionalRowCoder, row_class
from beam_ensembles.columns.arrow_types import finer_than_micros
from beam_ensembles.columns.convert import to_column
from beam_ensembles.columns.logical_types import reader_of, reading, writer_of, writing
from beam_ensembles.columns.nulls import field_of_values
from beam_ensembles.columns.schemas import field_type, type_of, wire_type_of, written_type
from beam_ensembles.transforms.output_schema import fits
from beam_ensembles.types import parse_type
from tests.support.logical_types import enumeration, logical

NOON = Timestamp(1_714_564_800, 123_456, 6)
NANOS = Timestamp(1_714_564_800, 123_456_789, 9)
MICROS = field_type(parse_type("timestamp"))


def nested(found: schema_pb2.FieldType, how: str) -> schema_pb2.FieldType:
    """Returns the type of a list, a map, a row of a type, or the type itself, nullable."""
    made = schema_pb2.FieldType()
    if how == "list":
        made.array_type.element_type.CopyFrom(found)
    elif how == "map":
        made.map_type.key_type.atomic_type = schema_pb2.STRING
        made.map_type.value_type.CopyFrom(found)
    elif how == "row":
        made.row_type.schema.fields.add(name="n").type.atomic_type = schema_pb2.INT64
        made.row_type.schema.fields.add(name="of", type=found)
    else:
        made.CopyFrom(found)
        made.nullable = True
    return made


READ = {
    "nanos": (logical("nanos"), (1_714_564_800, 123_456_789), NANOS),
    "nanos, whole": (logical("nanos"), (1_714_564_800, 123_456_000), NOON),
    "nanos before 1970": (logical("nanos"), (-1, 999_999_000), Timestamp(micros=-1)),
    "precision 3": (logical("precise", 3), (5, 250), Timestamp(micros=5_250_000)),
    "precision 9": (logical("precise", 9), (1_714_564_800, 123_456_789), NANOS),
    "Go": (logical("go"), ("2024-05-01T14:00:00.123456+02:00",), NOON),
    "Go, nanoseconds": (logical("go"), ("2024-05-01T12:00:00.123456789Z",), NANOS),
    "a date": (logical("date"), 20_454, Timestamp(1_767_225_600)),
    "a date of Python's": (logical("date"), datetime.date(2026, 1, 1), Timestamp(1_767_225_600)),
    "a time": (logical("time"), 3_600_000_005_000, Timestamp(3_600, 5)),
    "a date and a time": (logical("datetime"), (1, 1_000_000_001), Timestamp(86_401, 1, 9)),
    "a name": (enumeration("red", "green"), 1, "green"),
    "a number without a name": (enumeration("red"), 1, 1),
    "a decimal": (logical("decimal"), Decimal("12.340"), "12.340"),
    "a decimal in a record batch": (logical("decimal"), b"1E+3", "1E+3"),
    "a byte of Java's": (schema_pb2.FieldType(atomic_type=schema_pb2.BYTE), 255, -1),
    "bytes of Java's": (
        nested(schema_pb2.FieldType(atomic_type=schema_pb2.BYTE), "list"),
        [127, 128],
        [127, -128],
    ),
    "a byte of Go's": (logical("uint8"), -56, 200),
    "Go, its zero": (logical("go"), ("0001-01-01T00:00:00Z",), Timestamp(-62_135_596_800)),
}


@pytest.mark.parametrize(("found", "wire", "value"), READ.values(), ids=READ)
def test_values_are_read(found: schema_pb2.FieldType, wire: Any, value: Any) -> None:
    reader = reader_of(found)
    assert reader is not None
    assert reading(pickle.loads(pickle.dumps(reader)))(wire) == value


@pytest.mark.parametrize(
    ("how", "wrap", "type_"),
    [
        ("list", lambda value: [value], "array<timestamp>"),
        ("map", lambda value: {"k": value}, "map<string,timestamp>"),
        ("row", lambda value: (7, value), "row<n: int64, of: timestamp>"),
        ("optional", lambda value: value, "timestamp?"),
    ],
)
@pytest.mark.parametrize("name", ["nanos", "precise", "go"])
def test_nested_values_are_read(name: str, how: str, wrap: Callable[[Any], Any], type_: str) -> None:
    found = nested(logical(name, 6 if name == "precise" else None), how)
    assert str(type_of(found)) == type_
    wire = ("2024-05-01T12:00:00.123456Z",) if name == "go" else (1_714_564_800, 123_456_000)
    wire = (wire[0], 123_456) if name == "precise" else wire
    reader = reader_of(found)
    assert reader is not None
    read = reading(reader)(wrap(wire))
    column = to_column([read], parse_type(type_).required(), "t")
    assert not column.faults
    expected = wrap(NOON) if how != "row" else {"n": 7, "of": NOON}
    assert column.values.tolist() == [expected]


@pytest.mark.parametrize("text", ["May", "2024-05-01T12:00:00.1234567891Z", ""])
def test_a_text_that_is_no_time_fails_its_row_alone(text: str) -> None:
    reader = reader_of(logical("go"))
    assert reader is not None
    values = [reading(reader)((one,)) for one in (text, "2024-05-01T12:00:00.123456Z")]
    column = to_column(values, parse_type("timestamp"), "t")
    assert column.values.tolist() == [NOON]
    assert [(at, error.code) for at, error in column.faults.items()] == [(0, "wrong_value")]


@pytest.mark.parametrize(
    ("type_", "wrap"),
    [
        ("timestamp", lambda value: value),
        ("timestamp?", lambda value: value),
        ("array<timestamp>", lambda v: [v]),
    ],
)
def test_nanoseconds_are_refused_unless_the_file_drops_them(type_: str, wrap: Callable[[Any], Any]) -> None:
    values = [wrap(NANOS), wrap(Timestamp(7, 5_000, 9))]
    read, _ = field_of_values(values, parse_type(type_), "t")
    assert read.values.tolist() == [wrap(Timestamp(micros=7_000_005))]
    (error,) = read.faults.values()
    assert error.code == "wrong_value"
    assert "nanoseconds" in error.message
    assert f"t: {{type: {type_.rstrip('?')}, nanoseconds: truncate}}" in error.message
    read, _ = field_of_values(values, parse_type(type_), "t", truncates=True)
    assert (read.values.tolist(), read.faults) == ([wrap(NOON), wrap(Timestamp(micros=7_000_005))], {})


@pytest.mark.parametrize("micros", [2**63, -(2**63)])
def test_a_point_in_time_too_far_away_fails_its_row(micros: int) -> None:
    column = to_column([Timestamp(micros=micros), NOON], parse_type("timestamp"), "t")
    assert column.values.tolist() == [NOON]
    assert [error.code for error in column.faults.values()] == ["wrong_value"]


@pytest.mark.parametrize(
    "found",
    [
        logical("precise", 10),
        logical("precise", -1),
        schema_pb2.FieldType(
            logical_type=schema_pb2.LogicalType(
                urn="time.Time", representation=schema_pb2.FieldType(atomic_type=3)
            )
        ),
        schema_pb2.FieldType(logical_type=schema_pb2.LogicalType(urn="private", representation=MICROS)),
    ],
)
def test_what_is_no_point_in_time_stays_as_it_is(found: schema_pb2.FieldType) -> None:
    assert type_of(found) is None
    assert reader_of(found) is None


@pytest.mark.parametrize(
    ("wanted", "wire"),
    [
        (logical("nanos"), (1_714_564_800, 123_456_000)),
        (logical("go"), ("2024-05-01T12:00:00.123456Z",)),
        (logical("millis"), None),
    ],
)
def test_added_columns_are_written_as_their_caller_reads_them(
    wanted: schema_pb2.FieldType, wire: tuple[Any, ...] | None
) -> None:
    assert fits(MICROS, wanted, is_added=True)
    writer = writer_of(wanted)
    assert writer is not None
    if wire is None:
        with pytest.raises(ValueError, match="milliseconds"):
            writing(writer)(NOON)
        value = writing(writer)(Timestamp(micros=5_000))
    else:
        value = writing(writer)(NOON)
        assert tuple(value) == wire
        assert pa.array([value]).to_pylist()
    schema = schema_pb2.Schema(fields=[schema_pb2.Field(name="t", type=wanted)])
    coder: Any = PositionalRowCoder(schema)
    row = row_class(("t",))._make((value,))
    assert tuple(coder.decode(coder.encode(row))) == (value,)


def test_a_field_that_passes_through_stays_of_its_type() -> None:
    assert not fits(MICROS, logical("nanos"))
    assert not fits(logical("precise", 3), logical("precise", 9))
    assert fits(logical("go"), logical("go"))


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("nanos", "row<seconds: int64, nanos: int32>"),
        ("go", "row<EncodedBeamData: string>"),
        ("millis", "timestamp"),
    ],
)
def test_record_batches_have_the_representation(name: str, layout: str) -> None:
    found = logical(name)
    assert str(wire_type_of(nested(found, "list"))) == f"array<{layout}>"
    writer = writer_of(found)
    assert writer is not None
    assert str(written_type(writer)) == layout


def test_rows_of_a_record_batch_with_nanoseconds_are_found() -> None:
    nanos = pa.timestamp("ns")
    array = pa.array([[0], [1_001], [], None, [None, 999]], pa.list_(nanos))
    found = finer_than_micros(array)
    assert found is not None
    assert found.tolist() == [False, True, False, False, True]
    assert finer_than_micros(pa.array([0, 1_000, None], nanos)) is None
    in_dictionary = finer_than_micros(pa.array([0, 1], nanos).dictionary_encode())
    assert in_dictionary is not None
    assert np.array_equal(in_dictionary, [False, True])


@pytest.mark.parametrize(
    ("found", "type_"),
    [
        (logical("date"), "timestamp"),
        (logical("time"), "timestamp"),
        (logical("datetime"), "timestamp"),
        (logical("uint8"), "int32"),
        (enumeration("red"), "string"),
        (logical("decimal"), "string"),
        (logical("text", 10), "string"),
        (logical("bytes", 4), "bytes"),
        (schema_pb2.FieldType(atomic_type=schema_pb2.BYTE), "int8"),
        (schema_pb2.FieldType(atomic_type=schema_pb2.INT16), "int16"),
    ],
)
def test_types_of_java_and_go_are_types_of_the_language(found: schema_pb2.FieldType, type_: str) -> None:
    assert str(type_of(found)) == type_
