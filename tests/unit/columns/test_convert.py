"""Values of rows to columns and back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.columns.convert import to_column, to_values
from beam_ensembles.tables.json_text import JsonNumber
from beam_ensembles.types import parse_type


@pytest.mark.parametrize(
    ("type_", "values", "dtype", "shape"),
    [
        ("double", [1.5, 2, 3.0], np.float64, (3,)),
        ("float", [1.5, 2.5], np.float32, (2,)),
        ("int32", [1, -2], np.int32, (2,)),
        ("boolean", [True, False], np.bool_, (2,)),
        ("array<double>[2]", [[1.0, 2.0], (3.0, 4.0)], np.float64, (2, 2)),
        ("array<float>[2,3]", [[1, 2, 3, 4, 5, 6]], np.float32, (1, 2, 3)),
        ("array<float>[2,3]", [[[1, 2, 3], [4, 5, 6]]], np.float32, (1, 2, 3)),
        ("array<uint8>[2]", [np.array([1, 255], np.uint8)], np.uint8, (1, 2)),
        ("string", ["a", "b"], object, (2,)),
        ("bytes", [b"a"], object, (1,)),
        ("array<double>", [[1.0], [1.0, 2.0]], object, (2,)),
        ("array<string>", [["a"], []], object, (2,)),
    ],
)
def test_values_become_a_column(type_: str, values: list[Any], dtype: type, shape: tuple[int, ...]) -> None:
    found = to_column(values, parse_type(type_), "x")
    assert not found.faults
    assert found.values.dtype == dtype
    assert found.values.shape == shape


def test_an_empty_column_keeps_its_type() -> None:
    assert to_column([None], parse_type("array<float>[2,3]"), "x").values.shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("type_", "bad", "code"),
    [
        ("double", None, "null_value"),
        ("double", "1.0", "wrong_value"),
        ("double", [1.0], "wrong_value"),
        ("int64", 1.5, "wrong_value"),
        ("int64", 2**70, "wrong_value"),
        ("int32", 2**40, "wrong_value"),
        ("uint8", -1, "wrong_value"),
        ("boolean", 1, "wrong_value"),
        ("string", 5, "wrong_value"),
        ("string", None, "null_value"),
        ("string", "a\udcff", "wrong_value"),
        ("bytes", "text", "wrong_value"),
        ("array<double>[2]", [1.0], "wrong_length"),
        ("array<double>[2]", [1.0, 2.0, 3.0], "wrong_length"),
        ("array<double>[2]", [1.0, None], "null_value"),
        ("array<double>[2]", ["a", "b"], "wrong_value"),
        ("array<double>[2]", 1.0, "wrong_value"),
        ("array<double>", [1.0, "a"], "wrong_value"),
        ("array<double>", 3.0, "wrong_value"),
    ],
)
def test_a_bad_value_is_the_error_of_its_own_row(type_: str, bad: Any, code: str) -> None:
    wanted = parse_type(type_)
    good = {"string": "a", "bytes": b"a", "boolean": True, "int64": 1, "int32": 1, "uint8": 1, "double": 1.0}
    value: Any = good.get(type_, [1.0, 2.0])
    found = to_column([value, bad, value], wanted, "x")
    assert [error.code for error in found.faults.values()] == [code]
    assert list(found.faults) == [1]
    assert len(found.values) == 2
    assert "'x'" in str(found.faults[1])


@pytest.mark.parametrize(
    ("type_", "good", "bad", "code"),
    [
        ("array<string>", ["a"], ["a", None], "null_value"),
        ("array<array<double>>", [[1.0]], [[None]], "null_value"),
        ("array<row<a: double>>", [{"a": 1.0}], [{"a": None}], "null_value"),
        ("array<row<a: double>>", [{"a": 1.0}], [None], "null_value"),
        ("row<a: double, b: string?>", {"a": 1.0, "b": None}, {"a": None, "b": "x"}, "null_value"),
        ("row<a: double, b: string?>", {"a": 1.0}, {"b": "x"}, "wrong_value"),
        ("row<a: double, b: string?>", (1.0, "x"), ("a", "x"), "wrong_value"),
        ("row<a: row<b: array<string>>>", {"a": {"b": []}}, {"a": {"b": None}}, "null_value"),
        ("map<string, double>", {"k": 1.0}, {"k": None}, "null_value"),
        ("map<string, double>", {"k": 1.0}, {"k": "x"}, "wrong_value"),
        ("map<string, double>", {}, {1: 1.0}, "wrong_value"),
        ("map<string, double>", {"ä": 1.0}, {"\udcff": 1.0}, "wrong_value"),
        ("array<string>", ["ä"], ["ä", "\udcff"], "wrong_value"),
        ("map<string, double?>", {"k": None}, [("k", 1.0)], "wrong_value"),
    ],
)
def test_what_is_within_a_value_is_checked_as_well(type_: str, good: Any, bad: Any, code: str) -> None:
    found = to_column([good, bad, good], parse_type(type_), "x")
    assert {at: error.code for at, error in found.faults.items()} == {1: code}
    assert len(found.values) == 2


def test_nan_is_a_number_and_none_is_not() -> None:
    found = to_column([float("nan"), None], parse_type("double"), "x")
    assert len(found.values) == 1
    assert np.isnan(found.values[0])
    assert found.faults[1].code == "null_value"


@given(st.lists(st.lists(st.floats(allow_nan=False, width=64), min_size=3, max_size=3), min_size=1))
def test_tensors_survive_there_and_back(rows: list[list[float]]) -> None:
    type_ = parse_type("array<double>[3]")
    assert to_values(to_column(rows, type_, "x").values, type_) == rows


def test_a_matrix_comes_back_flat_and_row_major() -> None:
    assert to_values(np.arange(6.0).reshape(1, 2, 3), parse_type("array<double>[2,3]")) == [
        [0, 1, 2, 3, 4, 5]
    ]


def test_lists_of_arrays_come_back_as_lists() -> None:
    column = np.fromiter([np.array([1.0]), np.array([1.0, 2.0])], dtype=object, count=2)
    assert to_values(column, parse_type("array<double>")) == [[1.0], [1.0, 2.0]]


def test_rows_within_a_column_become_what_rows_are() -> None:
    type_ = parse_type("array<row<a: int64, b: map<string, row<c: double>>?>>")
    column = np.empty(2, dtype=object)
    column[:] = [[{"b": {"k": {"c": 1.5}}, "a": 1}, {"a": 2, "b": None}], []]
    assert to_values(column, type_) == column.tolist()
    as_rows = to_values(column, type_, lambda fields: tuple(fields.values()))
    assert as_rows == [[(1, {"k": (1.5,)}), (2, None)], []]


@pytest.mark.parametrize(
    ("type_", "bad"), [("float", 1e300), ("double", True), ("int32", True), ("array<float>[1]", [1e300])]
)
def test_a_number_that_does_not_fit_and_a_truth_value_are_no_numbers(type_: str, bad: Any) -> None:
    good = [1] if type_.startswith("array") else 1
    found = to_column([good, bad], parse_type(type_), "x")
    assert [error.code for error in found.faults.values()] == ["wrong_value"]


def test_infinity_stays_infinity() -> None:
    assert np.isinf(to_column([float("inf")], parse_type("float"), "x").values).all()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ([1.0, [2.0]], "wrong_value"),
        ([1.0, []], "wrong_value"),
        ([[1.0], [2.0, 3.0], [4.0]], "wrong_length"),
        (np.array(1.0), "wrong_length"),
    ],
    ids=repr,
)
def test_a_value_of_any_shape_is_the_error_of_its_row(value: Any, code: str) -> None:
    found = to_column([[1.0, 2.0], value], parse_type("array<double>[2]"), "x")
    assert found.faults[1].code == code
    np.testing.assert_array_equal(found.values, [[1.0, 2.0]])


@pytest.mark.parametrize("count", [0, 6, 7, 40])
@pytest.mark.parametrize("good", [[1.5, 0.0], [1, 0.5], [1, 0], (1.0, 2.0)])
@pytest.mark.parametrize("bad", [[1.0, True], [1, False], [True, False], [1.0, np.True_]])
@pytest.mark.parametrize("type_", ["array<double>[2]", "array<float>[2,1]", "array<double>"])
def test_a_truth_value_in_a_list_is_no_number(type_: str, bad: list[Any], good: Any, count: int) -> None:
    nested = type_.endswith("1]")
    values = [[[item] for item in row] if nested else row for row in [bad, *[good] * count]]
    found = to_column(values, parse_type(type_), "x")
    assert {at: error.code for at, error in found.faults.items()} == {0: "wrong_value"}
    assert len(found.values) == count


@pytest.mark.parametrize(
    ("value", "hint"), [(Decimal("1.50"), True), (JsonNumber("1.50"), False), (1.5, False)]
)
def test_a_decimal_where_a_text_is_declared_is_told_what_it_is(value: Any, hint: bool) -> None:
    faults = to_column([value], parse_type("string?"), "price").faults
    (found,) = faults.values()
    assert ("a decimal is a number here: declare it double" in found.message) == hint
