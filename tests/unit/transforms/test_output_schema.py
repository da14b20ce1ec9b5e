"""Outputs in the order and under the schema with which the caller decodes them."""

from __future__ import annotations

import pytest

from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.transforms.output_schema import parse_schema, positions_in
from beam_ensembles.types import parse_type


def _schema(**fields: str) -> object:
    return schema_of((name, parse_type(type_)) for name, type_ in fields.items())


MADE = _schema(
    id="int64", note="string?", label="string", confidence="double", p="array<double>", r="row<x: int64>"
)


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [
        ({"label": "string", "id": "int64"}, (2, 0)),
        ({"confidence": "double?"}, (3,)),
        ({"note": "string?", "p": "array<double>"}, (1, 4)),
        ({"r": "row<x: int64>"}, (5,)),
        ({}, ()),
    ],
)
def test_columns_come_in_the_callers_order(wanted: dict[str, str], positions: tuple[int, ...]) -> None:
    assert positions_in(MADE, _schema(**wanted), "output_schema") == positions


def test_only_rows_that_the_ensemble_makes_may_have_another_order() -> None:
    made, wanted = _schema(r="row<x: int64, y: string>"), _schema(r="row<y: string, x: int64>")
    assert positions_in(made, wanted, "output_schema", {"r"}) == (0,)
    with pytest.raises(InvalidEnsemble, match="output_schema_mismatch"):
        positions_in(made, wanted, "output_schema")
    with pytest.raises(InvalidEnsemble, match="output_schema_mismatch"):
        positions_in(made, _schema(r="row<y: int64, x: string>"), "output_schema", {"r"})


@pytest.mark.parametrize(
    "wanted",
    [
        {"lable": "string"},
        {"confidence": "float"},
        {"id": "int32"},
        {"note": "string"},
        {"p": "array<float>"},
        {"p": "array<double?>"},
        {"p": "string"},
        {"r": "row<y: int64>"},
    ],
)
def test_a_field_that_would_be_read_wrongly_is_refused(wanted: dict[str, str]) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        positions_in(MADE, _schema(**wanted), "output_schema")
    (problem,) = caught.value.problems
    assert str(caught.value).startswith(
        "the caller's type does not fit the output of the ensemble: 1 problem"
    )
    assert problem.code == "output_schema_mismatch"
    assert problem.path == f"output_schema.{next(iter(wanted))}"


def test_bytes_that_are_no_schema_are_refused() -> None:
    with pytest.raises(InvalidEnsemble, match="wrong_config"):
        parse_schema(b"\xff\xff", "output_schema")
