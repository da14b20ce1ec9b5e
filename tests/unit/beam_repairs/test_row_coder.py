"""Rows of other languages on the wire."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.coders.row_coder import RowCoder
from apache_beam.portability.api import schema_pb2
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.beam_repairs.row_coder import PositionalRowCoder, RowType, neutral_schema, row_class
from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.errors import EnsembleError
from beam_ensembles.types import parse_type


def _logical(urn: str, atomic: Any) -> schema_pb2.FieldType:
    representation = schema_pb2.FieldType(atomic_type=atomic)
    return schema_pb2.FieldType(logical_type=schema_pb2.LogicalType(urn=urn, representation=representation))


def _schema(**fields: str) -> schema_pb2.Schema:
    return schema_of((name, parse_type(type_)) for name, type_ in fields.items())


def test_the_bytes_are_those_of_beams_own_coder() -> None:
    schema = _schema(a="int64", b="string?", c="array<double>", d="map<string,int64>")
    schema.id = "some-id"
    ours, theirs = PositionalRowCoder(schema), RowCoder(schema)
    row = row_class(("a", "b", "c", "d"))._make((7, None, [1.0, 2.0], {"k": 1}))
    assert ours.encode(row) == theirs.encode(row)
    assert tuple(ours.decode(theirs.encode(row))) == tuple(row)


def test_a_text_that_is_not_utf8_crosses_as_it_is() -> None:
    types = {"a": "TEXT", "b": "TEXT?", "c": "array<TEXT?>", "d": "map<TEXT,TEXT>", "e": "row<f: TEXT>"}
    as_bytes, as_texts = (
        PositionalRowCoder(_schema(**{name: type_.replace("TEXT", text) for name, type_ in types.items()}))
        for text in ("bytes", "string")
    )
    nested = row_class(("f",))._make((b"\xff",))
    row = row_class(tuple(types))._make((b"\xff", b"\xfe", [b"a\xff", None], {b"\xff": b"b"}, nested))
    on_the_wire = as_bytes.encode(row)
    assert as_texts.encode(as_texts.decode(on_the_wire)) == on_the_wire
    assert next(iter(as_texts.decode(on_the_wire))) == "\udcff"


@pytest.mark.parametrize("name", ["class", "_x", "my-field", "", "f1", "count", "größe", "a.b"])
def test_any_field_name_crosses(name: str) -> None:
    schema = schema_of([(name, parse_type("string")), ("z", parse_type("int64"))])
    coder = PositionalRowCoder(schema)
    row = row_class((name, "z"))._make(("v", 1))
    assert tuple(coder.decode(coder.encode(row))) == ("v", 1)


@pytest.mark.parametrize("name", ["class", "_x", "my-field", "count"])
def test_a_row_is_read_by_name_too(name: str) -> None:
    assert getattr(row_class(("z", name))._make((1, "v")), name) == "v"


def test_an_unknown_logical_type_is_its_representation() -> None:
    schema = schema_pb2.Schema()
    schema.fields.add(name="when", type=_logical("beam:logical_type:some_private:v1", schema_pb2.INT64))
    coder = PositionalRowCoder(schema)
    assert tuple(coder.decode(coder.encode(row_class(("when",))._make((5,))))) == (5,)


def test_python_source_in_a_logical_type_stays_text() -> None:
    schema = schema_pb2.Schema()
    schema.fields.add(name="f", type=_logical("beam:logical_type:python_callable:v1", schema_pb2.STRING))
    coder = PositionalRowCoder(schema)
    assert tuple(coder.decode(coder.encode(row_class(("f",))._make(("raise SystemExit",))))) == (
        "raise SystemExit",
    )


def test_nothing_in_a_neutral_schema_can_hold_a_pickle() -> None:
    schema = schema_pb2.Schema()
    schema.fields.add(name="any", type=_logical("beam:logical:pythonsdk_any:v1", schema_pb2.BYTES))
    assert neutral_schema(schema).fields[0].type.WhichOneof("type_info") == "atomic_type"


def test_schemas_of_one_id_and_other_fields_do_not_mix() -> None:
    first, second = _schema(a="int64", b="string"), _schema(b="string", a="int64")
    first.id = second.id = "the-hash-of-a-type-name"
    row = row_class(("b", "a"))._make(("text", 1))
    data = PositionalRowCoder(second).encode(row)
    PositionalRowCoder(first)
    assert tuple(PositionalRowCoder(second).decode(data)) == ("text", 1)


def test_the_schema_stands_on_the_wire_as_it_was_given() -> None:
    schema = _schema(a="int64")
    schema.id = "kept"
    assert PositionalRowCoder(schema).to_runner_api_parameter(None)[1] == schema
    assert PositionalRowCoder(schema).to_type_hint() == RowType(schema)


@pytest.mark.parametrize("micros", [0, 1, -1, 1_500_000, -(10**12) - 7])
def test_timestamps_and_nested_rows_cross(micros: int) -> None:
    coder: Any = PositionalRowCoder(_schema(t="timestamp", r="row<x: array<int64>, y: string?>"))
    time, nested = Timestamp(micros=micros), row_class(("x", "y"))._make(([1, 2], None))
    row = row_class(("t", "r"))._make((time, nested))
    assert tuple(coder.decode(coder.encode(row))) == (time, ([1, 2], None))


@pytest.mark.parametrize(
    "names", [("id", "pixels"), ("count", "f"), ("f1", "f0"), ("class", "x"), ("_a", "b")]
)
def test_rows_are_tuples_and_have_names_where_python_can_have_them(names: tuple[str, str]) -> None:
    """A worker serves pipelines of all languages: what those in Python emit are no tuples, but have the names."""
    coder = PositionalRowCoder(_schema_of(names))
    decoded = coder.decode(coder.encode(row_class(names)._make((7, 8))))
    assert tuple(decoded) == (7, 8)
    if names[0] in ("id", "count"):
        row = beam.Row(**dict(zip(names, (7, 8), strict=True)))
        assert coder.encode(row) == coder.encode(decoded)
        assert [getattr(coder.decode(coder.encode(row)), name) for name in names] == [7, 8]


def _schema_of(names: tuple[str, ...]) -> schema_pb2.Schema:
    schema = schema_pb2.Schema(id="rows")
    for name in names:
        schema.fields.add(name=name).type.atomic_type = schema_pb2.INT64
    return schema


@pytest.mark.parametrize(
    "text", ["0", "-0.10", "1E+3", "12.340", "-1E-30", f"{'1234567890' * 6}.5", f"-0.{'0' * 40}7", "9" * 5000]
)
def test_decimals_keep_every_digit(text: str) -> None:
    schema = schema_pb2.Schema()
    schema.fields.add(name="one", type=_logical("beam:logical_type:decimal:v1", schema_pb2.BYTES))
    many = schema.fields.add(name="many").type.array_type.element_type
    many.CopyFrom(_logical("beam:logical_type:decimal:v1", schema_pb2.BYTES))
    coder = PositionalRowCoder(schema)
    row = row_class(("one", "many"))._make((Decimal(text), [Decimal(text), Decimal(1)]))
    decoded = coder.decode(coder.encode(row))
    assert [str(value) for value in (decoded[0], *decoded[1])] == [str(Decimal(text))] * 2 + ["1"]
    assert coder.encode(decoded) == coder.encode(row)
    if len(text) < 20:
        assert RowCoder(neutral_schema(schema)).encode(row) == coder.encode(row)


def test_a_decimal_whose_point_is_too_far_away_is_refused() -> None:
    schema = schema_pb2.Schema()
    schema.fields.add(name="one", type=_logical("beam:logical_type:decimal:v1", schema_pb2.BYTES))
    scale = b"\x80\x80\x80\x80\x80\x01"
    with pytest.raises(EnsembleError, match="malformed"):
        PositionalRowCoder(schema).decode(b"\x01\x00" + scale + b"\x01\x07")
