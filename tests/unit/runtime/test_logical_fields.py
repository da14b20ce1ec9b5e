"""Fields of logical types through a whole stage, in rows and in record batches: read, passed through, given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from apache_beam.portability.api import schema_pb2

from beam_ensembles.beam_repairs.row_coder import PositionalRowCoder, RowType, row_class
from beam_ensembles.columns.arrow_batch import ArrowReader
from beam_ensembles.columns.arrow_types import EVENT_TIME, arrow_field
from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.columns.nested_rows import names_of
from beam_ensembles.columns.schemas import schema_of, wire_type_of
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.arrow_source import ArrowSource
from beam_ensembles.runtime.row_source import RowSource
from beam_ensembles.transforms.binding import Binding, CallOptions, arrow_rows, bind
from beam_ensembles.transforms.row_forms import InputRows
from beam_ensembles.types import parse_type
from tests.support.arrow_batches import read, stream
from tests.support.logical_types import logical

Values = Sequence[Any]


def schema(**fields: schema_pb2.FieldType) -> schema_pb2.Schema:
    return schema_pb2.Schema(fields=[schema_pb2.Field(name=name, type=of) for name, of in fields.items()])


class Call:
    """An ensemble bound to rows of a schema."""

    def __init__(self, text: str, given: schema_pb2.Schema, wanted: schema_pb2.Schema) -> None:
        self.graph = check_text(text, KINDS, Files())
        self.rows = InputRows(given, RowType(given))
        self.wanted = wanted
        self.binding: Binding = bind(self.graph, self.rows, CallOptions(output_schema=wanted))
        self.code = StageCode(
            self.graph.spec.name,
            self.graph.nodes,
            self.binding.inputs,
            self.graph.outputs,
            self.binding.outputs.form,
            truncated=self.graph.spec.truncated,
            written=self.binding.written,
        )

    def _finished(self, source: Any) -> Any:
        columns = source.read(self.code)
        LoadedStage(self.code, this_machine()).run(columns)
        return source.finish(self.code, columns)

    def by_rows(self, values: Sequence[Values]) -> tuple[list[Any], list[str]]:
        """Returns scored rows and the messages of others, through the coders of the wire."""
        coder: Any = PositionalRowCoder(self.rows.schema)
        make = row_class(tuple(self.rows.fields))._make
        elements = [coder.decode(coder.encode(make(map(as_rows, row)))) for row in values]
        found = self._finished(RowSource(RowBatch(elements)))
        out: Any = PositionalRowCoder(self.wanted)
        scored = [tuple(map(as_tuples, out.decode(out.encode(element)))) for element in found.ok]
        return scored, [failure.error.message for failure, _ in found.failed]

    def score(self, batch: pa.RecordBatch) -> Any:
        """Scores the rows of a record batch."""
        reader = ArrowReader(arrow_rows(self.rows, self.graph, self.binding))
        return self._finished(ArrowSource(reader.read(stream(batch))))

    def by_batches(self, values: Sequence[Values]) -> tuple[list[Any], list[str]]:
        """Returns the same of rows in a record batch."""
        types = {name: wire_type_of(of) for name, of in self.rows.fields.items()}
        fields = [arrow_field(name, of) for name, of in types.items() if of is not None]
        columns = [
            pa.array(column, field.type)
            for column, field in zip(zip(*values, strict=True), fields, strict=True)
        ]
        times = pa.array([0] * len(values), pa.int64())
        batch = pa.RecordBatch.from_arrays(
            [*columns, times], schema=pa.schema([*fields, (EVENT_TIME, pa.int64())])
        )
        found = self.score(batch)
        scored = [] if found.ok is None else read(found.ok).to_pylist(maps_as_pydicts="strict")
        failed = [] if found.failed is None else read(found.failed).column("msg").to_pylist()
        return [tuple(map(as_tuples, list(row.values())[:-1])) for row in scored], failed


def as_rows(value: Any) -> Any:
    """Returns a value whose tuples are rows."""
    if isinstance(value, list):
        return [as_rows(item) for item in value]
    if type(value) is not tuple:
        return value
    return row_class(("seconds", "nanos") if len(value) == 2 else ("EncodedBeamData",))._make(value)


def as_tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple(map(as_tuples, value.values()))
    if isinstance(value, tuple):
        return tuple(map(as_tuples, value))
    return [as_tuples(item) for item in value] if isinstance(value, list) else value


LATER = """
ensemble: times
inputs: {at: INPUT}
nodes:
  later:
    apply: sql
    select: {late: "at >= TIMESTAMP '2026-01-01 00:00:00'", later: "at + INTERVAL '1 hour'"}
    outputs: {late: "boolean?", later: "timestamp?"}
"""
NEW_YEAR = 1_767_225_600
WHOLE = {
    "nanos": ((NEW_YEAR, 5_000), (NEW_YEAR + 3_600, 5_000)),
    "go": (("2026-01-01T02:00:00.000005+02:00",), ("2026-01-01T01:00:00.000005Z",)),
}
WITH_NANOS = {"nanos": (NEW_YEAR, 5_001), "go": ("2026-01-01T00:00:00.000005001Z",)}


def optional(found: schema_pb2.FieldType) -> schema_pb2.FieldType:
    made = schema_pb2.FieldType()
    made.CopyFrom(found)
    made.nullable = True
    return made


def later(kind: str, declared: str = '"timestamp?"') -> Call:
    of = optional(logical(kind))
    truth = schema_pb2.FieldType(atomic_type=schema_pb2.BOOLEAN, nullable=True)
    return Call(LATER.replace("INPUT", declared), schema(at=of), schema(later=of, at=of, late=truth))


@pytest.mark.parametrize("way", ["by_rows", "by_batches"])
@pytest.mark.parametrize("kind", WHOLE)
def test_a_point_in_time_is_read_passed_through_and_given_back(kind: str, way: str) -> None:
    value, one_later = WHOLE[kind]
    scored, failed = getattr(later(kind), way)([(value,), (None,)])
    assert (scored, failed) == ([(one_later, value, True), (None, None, None)], [])


@pytest.mark.parametrize("way", ["by_rows", "by_batches"])
@pytest.mark.parametrize("kind", WITH_NANOS)
def test_nanoseconds_are_refused_or_dropped_and_pass_through_whole(kind: str, way: str) -> None:
    value, one_later = WITH_NANOS[kind], WHOLE[kind][1]
    scored, failed = getattr(later(kind), way)([(value,)])
    assert scored == []
    assert "nanoseconds: truncate" in failed[0]
    truncates = '{type: "timestamp?", nanoseconds: truncate}'
    scored, failed = getattr(later(kind, truncates), way)([(value,)])
    assert (scored, failed) == ([(one_later, value, True)], [])


UNREAD = """
ensemble: unread
inputs: {x: int64}
nodes:
  double: {apply: sql, select: {y: x * 2}, outputs: {y: int64}}
"""


@pytest.mark.parametrize("way", ["by_rows", "by_batches"])
@pytest.mark.parametrize("kind", WITH_NANOS)
def test_what_no_node_reads_is_untouched(kind: str, way: str) -> None:
    x = schema_pb2.FieldType(atomic_type=schema_pb2.INT64)
    call = Call(UNREAD, schema(x=x, at=logical(kind)), schema(at=logical(kind), y=x))
    values = [WITH_NANOS[kind], ("no time",)] if kind == "go" else [WITH_NANOS[kind]]
    scored, failed = getattr(call, way)([(4, value) for value in values])
    assert (scored, failed) == ([(value, 8) for value in values], [])


def test_a_time_that_is_not_utf8_fails_its_row_alone() -> None:
    call = later("go", "timestamp")
    texts = pa.array([b"2026-01-01T00:00:00Z", b"\xff"], pa.binary()).view(pa.string())
    field = pa.field("EncodedBeamData", pa.string(), nullable=False)
    times = pa.StructArray.from_arrays([texts], fields=[field])
    batch = pa.RecordBatch.from_arrays(
        [times, pa.array([0, 0])],
        schema=pa.schema([pa.field("at", times.type), (EVENT_TIME, pa.int64())]),
    )
    found = call.score(batch)
    assert read(found.ok).num_rows == 1
    assert read(found.failed).column("msg").to_pylist() == ["input 'at' holds a text that is not UTF-8"]


NESTED = """
ensemble: nested
inputs: {ts: "array<timestamp>"}
nodes:
  back: {apply: sql, select: {back: ARRAY_REVERSE(ts)}, outputs: {back: "array<timestamp>"}}
"""


@pytest.mark.parametrize("way", ["by_rows", "by_batches"])
@pytest.mark.parametrize("kind", WHOLE)
def test_lists_of_points_in_time_cross(kind: str, way: str) -> None:
    of = schema_pb2.FieldType()
    of.array_type.element_type.CopyFrom(logical(kind))
    call = Call(NESTED, schema(ts=of), schema(back=of))
    first, second = (1, 0), (2, 0)
    if kind == "go":
        first, second = ("1970-01-01T00:00:01Z",), ("1970-01-01T00:00:02Z",)  # type: ignore[assignment]
    scored, failed = getattr(call, way)([([first, second],), ([],)])
    assert (scored, failed) == ([([second, first],), ([],)], [])


@pytest.mark.parametrize("way", ["by_rows", "by_batches"])
def test_what_the_callers_type_cannot_hold_fails_its_row_alone(way: str) -> None:
    given, wanted = logical("micros"), optional(logical("millis"))
    call = Call(LATER.replace("INPUT", "timestamp"), schema(at=given), schema(later=wanted))
    scored, failed = [], []
    if way == "by_batches":
        scored, failed = call.by_batches([(5,), (7_000,)])
        assert scored == [(3_600_007_000,)]
    else:
        from apache_beam.utils.timestamp import Timestamp

        scored, failed = call.by_rows([(Timestamp(micros=5),), (Timestamp(micros=7_000),)])
        assert scored == [(Timestamp(micros=3_600_007_000),)]
    assert len(failed) == 1
    assert "output 'later' is Timestamp(3600.000005), and its caller takes milliseconds" in failed[0]


def test_a_kept_field_is_not_given_as_another_type() -> None:
    with pytest.raises(InvalidEnsemble, match="output_schema_mismatch"):
        Call(LATER.replace("INPUT", "timestamp"), schema(at=logical("go")), schema(at=logical("nanos")))


PRICES = """
ensemble: prices
inputs: {price: string}
nodes:
  number: {apply: sql, select: {euros: CAST(price AS DOUBLE)}, outputs: {euros: double}}
"""


@pytest.mark.parametrize("way", ["by_rows", "by_batches"])
def test_a_decimal_becomes_a_double_by_a_cast(way: str) -> None:
    of, double = logical("decimal"), schema_pb2.FieldType(atomic_type=schema_pb2.DOUBLE)
    texts = ["12.340", "1E+3", "-0.1", "123456789012345678901234567890.1"]
    values = [Decimal(text) if way == "by_rows" else text.encode() for text in texts]
    call = Call(PRICES, schema(price=of), schema(price=of, euros=double))
    scored, failed = getattr(call, way)([(value,) for value in values])
    assert failed == []
    assert [price for price, _ in scored] == values
    assert [euros for _, euros in scored] == [float(text) for text in texts]


def test_a_decimal_becomes_no_number_without_a_cast() -> None:
    with pytest.raises(InvalidEnsemble, match=r"declare it as string, and write CAST\(price AS DOUBLE\)"):
        Call(PRICES.replace("string", "double"), schema(price=logical("decimal")), schema())


TURNED = """
ensemble: turned
inputs:
  place: "row<lat: double, class: string>?"
  stops: "array<row<at: int64, note: string?>>"
  names: "array<string>"
  scores: "array<double>"
nodes:
  places: {apply: sql, select: {tenfold: place.lat * 10, kind: place.class, count: ARRAY_LENGTH(stops)}}
  zip: {apply: zip, inputs: {label: names, score: scores}, outputs: {found: "array<row<label: string, score: double>>"}}
  rare:
    apply: zip
    inputs: {label: names, score: scores}
    outputs: {rare: "array<row<label: string, score: double>>"}
    when: place.lat > 1
"""


@pytest.mark.parametrize("way", ["by_rows", "by_batches"])
def test_fields_of_rows_in_rows_are_read_and_written_by_name(way: str) -> None:
    given = {
        "place": "row<class: string, lat: double>?",
        "stops": "array<row<note: string?, at: int32>>",
        "names": "array<string>",
        "scores": "array<double>",
    }
    wanted = {
        "found": "array<row<score: double, label: string>>",
        "rare": "array<row<score: double?, label: string>>?",
        "place": given["place"],
        "tenfold": "double?",
        "kind": "string?",
        "count": "int64",
    }
    fields = [schema_of((name, parse_type(of)) for name, of in types.items()) for types in (given, wanted)]
    call = Call(TURNED, *fields)
    place, stop = row_class(("class", "lat")), row_class(("note", "at"))
    first = (place("home", 2.5), [stop("b", 7), stop(None, 8)], ["cat"], [0.5])
    second = (None, [stop("b", 7), stop("c", 9)], [], [])
    if way == "by_batches":
        first, second = (as_mappings(one) for one in (first, second))
    scored, failed = getattr(call, way)([first, second])
    assert failed == []
    assert scored[0] == ([(0.5, "cat")], [(0.5, "cat")], ("home", 2.5), 25.0, "home", 2)
    assert scored[1] == ([], None, None, None, None, 2)


def as_mappings(value: Any) -> Any:
    """Returns a value whose rows are mappings, as Arrow takes them."""
    if isinstance(value, list):
        return [as_mappings(item) for item in value]
    names = names_of(type(value)) if isinstance(value, tuple) else None
    if names is None:
        return tuple(map(as_mappings, value)) if isinstance(value, tuple) else value
    return dict(zip(names, map(as_mappings, value), strict=True))
