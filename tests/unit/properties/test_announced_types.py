"""The types that are known before anything runs are those of the values that come out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.portability.api import schema_pb2
from apache_beam.typehints.row_type import RowTypeConstraint
from apache_beam.typehints.schemas import named_fields_from_element_type, typing_to_runner_api
from hypothesis import HealthCheck, given, settings

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.transforms import RunEnsemble
from beam_ensembles.types import Array, Row, Scalar, Type
from tests.unit.properties.graphs import INPUTS, Case, cases
from tests.unit.properties.plain import Outcome
from tests.unit.properties.ways import by_arrow, by_rows

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, for infinite numbers
few = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
PYTHON = {"double": float, "int64": int, "boolean": bool, "string": str}
ATOMIC = {
    "double": schema_pb2.DOUBLE,
    "int64": schema_pb2.INT64,
    "boolean": schema_pb2.BOOLEAN,
    "string": schema_pb2.STRING,
}
ARROW = {"double": pa.float64(), "int64": pa.int64(), "boolean": pa.bool_(), "string": pa.string()}


def fits(value: Any, type_: Type) -> bool:
    """Returns whether a value, as plain Python has it, is of a type; a tensor is a flat list there."""
    if value is None:
        return type_.nullable
    if isinstance(type_, Array):
        count = None
        for size in type_.shape or ():
            count = (count or 1) * size
        return (
            isinstance(value, list)
            and count in (None, len(value))
            and all(fits(item, type_.element) for item in value)
        )
    if isinstance(type_, Row):
        return list(value) == [name for name, _ in type_.fields] and all(
            fits(value[name], of) for name, of in type_.fields
        )
    return isinstance(type_, Scalar) and type(value) is PYTHON[type_.name]


def arrow_type(type_: Type) -> pa.DataType:
    if isinstance(type_, Array):
        return pa.list_(pa.field("item", arrow_type(type_.element), nullable=type_.element.nullable))
    if isinstance(type_, Row):
        return pa.struct([pa.field(name, arrow_type(of), nullable=of.nullable) for name, of in type_.fields])
    assert isinstance(type_, Scalar)
    return ARROW[type_.name]


def is_field_of(field: schema_pb2.FieldType, type_: Type) -> bool:
    """Returns whether a field of a Beam schema is of a type."""
    if field.nullable != type_.nullable:
        return False
    if isinstance(type_, Array):
        return is_field_of(field.array_type.element_type, type_.element)
    if isinstance(type_, Row):
        fields = field.row_type.schema.fields
        return [one.name for one in fields] == [name for name, _ in type_.fields] and all(
            is_field_of(one.type, of) for one, (_, of) in zip(fields, type_.fields, strict=True)
        )
    return isinstance(type_, Scalar) and field.atomic_type == ATOMIC[type_.name]


def all_fit(outputs: tuple[tuple[str, Type], ...], found: Outcome) -> None:
    for what, *outcome in found:
        for name, type_ in outputs if what == "ok" else ():
            assert fits(outcome[0][name], type_), (name, str(type_), outcome[0][name])


@few
@given(cases())
def test_of_values_in_rows(case: Case) -> None:
    graph = check_text(case.text, KINDS, Files("/"))
    all_fit(graph.outputs, by_rows(graph, case.rows, fused=False))


@few
@given(cases())
def test_of_values_in_arrow(case: Case) -> None:
    graph = check_text(case.text, KINDS, Files("/"))
    found, schema = by_arrow(graph, case.rows)
    all_fit(graph.outputs, found)
    for name, type_ in graph.outputs if schema is not None else ():
        field = schema.field(name)
        assert field.nullable == type_.nullable
        assert field.type.equals(arrow_type(type_)), (name, str(type_), field.type)


@settings(few, max_examples=20)
@given(cases())
def test_of_the_schema_in_a_pipeline(case: Case) -> None:
    graph = check_text(case.text, KINDS, Files("/"))
    types = {"double": float, "int64": int, "boolean": bool, "string": str, "strings": list[str]}
    fields = [
        (name, types.get(kind, list[float]) | None if type_.endswith("?") else types.get(kind, list[float]))
        for name, (kind, type_) in INPUTS.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "random.yaml"
        file.write_text(case.text, encoding="utf-8")
        rows = beam.Pipeline() | beam.Create([], reshuffle=False)
        rows.element_type = RowTypeConstraint.from_fields(fields)
        scored = rows | RunEnsemble(file)
    found = dict(named_fields_from_element_type(scored.element_type))
    for name, type_ in graph.outputs:
        assert is_field_of(typing_to_runner_api(found[name]), type_), (name, str(type_), found[name])
