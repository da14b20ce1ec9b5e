"""Tensors within values: nested in columns, in one list each where rows cross."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from beam_ensembles.columns.convert import to_column, to_values
from beam_ensembles.columns.to_arrow import array_of
from beam_ensembles.types import parse_type

MASK = [[1.0, 2.0], [3.0, 4.0]]
FLAT = [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("type_", "value", "wanted"),
    [
        ("array<array<double>[2,2]>", [MASK, np.array(MASK)], [FLAT, FLAT]),
        ("array<row<n: int64, m: array<double>[2,2]>>", [{"n": 1, "m": MASK}], [{"n": 1, "m": FLAT}]),
        ("row<m: array<double>[2,2], n: string?>", {"m": MASK, "n": None}, {"m": FLAT, "n": None}),
        ("array<array<double>[2]>", [FLAT[:2]], [FLAT[:2]]),
        ("array<array<array<double>[2,2]>>", [[MASK], []], [[FLAT], []]),
    ],
)
def test_tensors_within_values_are_written_row_by_row(type_: str, value: Any, wanted: Any) -> None:
    column = np.fromiter([value], dtype=object, count=1)
    assert to_values(column, parse_type(type_)) == [wanted]
    assert array_of(column, parse_type(type_)).to_pylist() == [wanted]
    rows = to_values(column, parse_type(type_), dict)
    assert rows == [wanted]


class Place(NamedTuple):
    lng: float
    lat: float


def test_named_tuples_are_read_by_their_names() -> None:
    column = to_column(
        [Place(lng=1.0, lat=2.0), (3.0, 4.0)], parse_type("row<lat: double, lng: double>"), "place"
    )
    assert column.values.tolist() == [{"lat": 2.0, "lng": 1.0}, {"lat": 3.0, "lng": 4.0}]


def test_a_named_tuple_with_other_names_is_refused() -> None:
    column = to_column([Place(lng=1.0, lat=2.0)], parse_type("row<x: double, y: double>"), "place")
    (error,) = column.faults.values()
    assert (error.code, "Place(lng=1.0, lat=2.0)" in error.message) == ("wrong_value", True)


def test_a_mapping_holds_tensors() -> None:
    column = np.fromiter([{"a": MASK}], dtype=object, count=1)
    assert to_values(column, parse_type("map<string,array<double>[2,2]>")) == [{"a": FLAT}]
