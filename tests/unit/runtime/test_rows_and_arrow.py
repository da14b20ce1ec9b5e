"""A stage gives the same for the same rows, whether they come one by one or in Arrow record batches."""

from __future__ import annotations

import math
from typing import Any

from apache_beam.utils.timestamp import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.beam_repairs.row_coder import PositionalRowCoder, row_class
from beam_ensembles.columns.arrow_batch import ArrowReader
from beam_ensembles.columns.arrow_rows import ArrowRows
from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.columns.rows import TupleRows
from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.arrow_source import ArrowSource
from beam_ensembles.runtime.row_source import RowSource
from beam_ensembles.types import STRING, Array, Map, Row, Scalar, Type, row_shape, width_of
from tests.support.arrow_batches import read, record_batch, stream

NUMBERS = ("boolean", "int32", "int64", "float", "double")
SCALARS = tuple(map(Scalar, (*NUMBERS, "string", "bytes", "timestamp")))
VALUES = {
    "boolean": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**53), 2**53),
    "float": st.floats(width=32),
    "double": st.floats(),
    "string": st.text(max_size=5),
    "bytes": st.binary(max_size=5),
    "timestamp": st.integers(-(10**15), 10**15),
}
NARROWER = {"int64": ("int32",), "double": ("int32", "float")}


def optional(type_: Type) -> st.SearchStrategy[Type]:
    return st.sampled_from([type_, type_.optional()])


def nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    item = inner.flatmap(optional)
    fields = st.lists(item, min_size=1, max_size=2).map(
        lambda types: Row(tuple(zip("ab", types, strict=False)))
    )
    return st.one_of(item.map(Array), item.map(lambda value: Map(STRING, value)), fields)


TENSORS = st.builds(Array, st.sampled_from(NUMBERS).map(Scalar), st.sampled_from([(1,), (3,), (2, 2)]))
DECLARED = st.one_of(TENSORS, st.recursive(st.sampled_from(SCALARS), nested, max_leaves=3))


@st.composite
def field_of(draw: st.DrawFn, declared: Type) -> Type:
    """A field that may stand where a type is declared: narrower numbers, and nulls, which fail their row."""
    if isinstance(declared, Scalar):
        name = draw(st.sampled_from((declared.name, *NARROWER.get(declared.name, ()))))
        return draw(optional(Scalar(name)))
    if isinstance(declared, Array) and declared.shape is not None:
        return draw(optional(Array(draw(field_of(declared.element)))))
    return draw(optional(declared))


@st.composite
def value_of(draw: st.DrawFn, field: Type, lengths: tuple[int, ...] = (0, 1, 2)) -> Any:
    if field.nullable and draw(st.integers(0, 3)) == 0:
        return None
    if isinstance(field, Array):
        return [draw(value_of(field.element)) for _ in range(draw(st.sampled_from(lengths)))]
    if isinstance(field, Map):
        keys = draw(st.lists(st.text(max_size=2), unique=True, max_size=2))
        return {key: draw(value_of(field.value)) for key in keys}
    if isinstance(field, Row):
        return {name: draw(value_of(of)) for name, of in field.fields}
    return draw(VALUES[field.name]) if isinstance(field, Scalar) else None


@st.composite
def cases(draw: st.DrawFn) -> tuple[Type, Type, list[Any]]:
    declared = draw(DECLARED)
    field = draw(field_of(declared))
    width = width_of(declared) if row_shape(declared) else None
    lengths = (0, 1, 2) if width is None else (width, width, width, width - 1, width + 1)
    return declared, field, draw(st.lists(value_of(field, lengths), max_size=6))


def finished(code: StageCode, source: Any) -> Any:
    columns = source.read(code)
    LoadedStage(code, this_machine()).run(columns)
    return source.finish(code, columns)


def by_rows(code: StageCode, field: Type, values: list[Any]) -> tuple[list[Any], list[Any]]:
    """Returns the fields of scored rows and of failed ones, all through the coders of the wire."""
    fields = (("id", Scalar("int64")), ("v", field), ("kept", field))
    coder: Any = PositionalRowCoder(schema_of(fields))
    row = row_class(("id", "v", "kept"))
    elements = []
    for at, value in enumerate(values):
        on_the_wire = coder.encode(row(at, as_row(value, field), as_row(value, field)))
        elements.append(coder.decode(on_the_wire))
    found = finished(code, RowSource(RowBatch(elements)))
    (_, type_), *_ = code.outputs
    out: Any = PositionalRowCoder(schema_of((*fields, ("made", type_))))
    scored = [list(out.decode(out.encode(element))) for element in found.ok]
    failed = [(row[0][0], *row[1:]) for _, row in found.failed]
    return [[plain(value) for value in row] for row in scored], failed


def as_row(value: Any, type_: Type) -> Any:
    """Returns a value as rows hold it: points in time and rows are objects there."""
    if value is None:
        return None
    if isinstance(type_, Array):
        return [as_row(item, type_.element) for item in value]
    if isinstance(type_, Map):
        return {key: as_row(item, type_.value) for key, item in value.items()}
    if isinstance(type_, Row):
        names = tuple(name for name, _ in type_.fields)
        return row_class(names)(*(as_row(value[name], of) for name, of in type_.fields))
    return (
        Timestamp(micros=value) if type_ in (Scalar("timestamp"), Scalar("timestamp").optional()) else value
    )


def plain(value: Any) -> Any:
    """Returns a value as ``to_pylist`` does, with a text for NaN, which is not equal to itself."""
    if isinstance(value, tuple):
        return {name: plain(item) for name, item in zip("ab", value, strict=False)}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Timestamp):
        return value.micros
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def by_arrow(code: StageCode, field: Type, values: list[Any]) -> tuple[list[Any], list[Any]]:
    fields = {"id": "int64", "v": str(field), "kept": str(field)}
    (_, type_), *_ = code.outputs
    rows = ArrowRows(
        (("id", Scalar("int64")), ("v", field), ("kept", field)), (("made", type_),), (0, 1, 2, 3)
    )
    data = stream(
        record_batch(
            fields, [(at, v, v) for at, v in enumerate(values)], [7 * at for at in range(len(values))]
        )
    )
    found = finished(code, ArrowSource(ArrowReader(rows).read(data)))
    return _scored(found.ok), _failed(found.failed)


def _scored(data: bytes | None) -> list[Any]:
    if data is None:
        return []
    rows = read(data).to_pylist(maps_as_pydicts="strict")
    assert all(row.pop("__event_time") == 7 * row["id"] for row in rows)
    return [[plain(value) for value in row.values()] for row in rows]


def _failed(data: bytes | None) -> list[Any]:
    rows = [] if data is None else read(data).to_pylist(maps_as_pydicts="strict")
    assert all(row.pop("__event_time") == 7 * row["element"]["id"] for row in rows)
    return [(row.pop("element")["id"], *row.values()) for row in rows]


@given(cases())
def test_a_stage_gives_the_same_for_rows_and_for_record_batches(case: tuple[Type, Type, list[Any]]) -> None:
    declared, field, values = case
    form = TupleRows(("id", "v", "kept"), (0, 1, 2, 3), ("id", "v", "kept", "made"))
    code = StageCode("same", (), (("made", "v", declared),), (("made", declared),), form)
    assert by_arrow(code, field, values) == by_rows(code, field, values)
