"""A model's answer as a column: the declared shape and type, a row each, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.support.results import to_column
from beam_ensembles.types import parse_type


@pytest.mark.parametrize(
    ("answer", "type_", "wanted"),
    [
        (np.array([[1.5], [2.5]], np.float32), "double", np.array([1.5, 2.5])),
        (np.array([1, 2]), "int32", np.array([1, 2], np.int32)),
        (np.array([1, 2]), "double", np.array([1.0, 2.0])),
        ([[1.0, 2.0], [3.0, 4.0]], "array<float>[2]", np.array([[1, 2], [3, 4]], np.float32)),
        (np.array([True, False]), "boolean", np.array([True, False])),
        (np.array([[1, 2], [3, 4]])[:, :1], "array<int64>[1]", np.array([[1], [3]])),
    ],
)
def test_numbers_get_the_declared_type(answer: Any, type_: str, wanted: Any) -> None:
    np.testing.assert_array_equal(to_column(answer, parse_type(type_), 2, "y"), wanted, strict=True)


@pytest.mark.parametrize(
    ("answer", "type_", "wanted"),
    [
        (np.array(["a", "b"]), "string", ["a", "b"]),
        (np.array([["a"], ["b"]], dtype=object), "string", ["a", "b"]),
        (np.array([b"a", b"\x00b"], dtype=object), "bytes", [b"a", b"\x00b"]),
        (np.array([[1, 2], [3, 4]]), "array<int64>", [[1, 2], [3, 4]]),
        (np.array([["a", "b"], ["c", "d"]]), "array<string>", [["a", "b"], ["c", "d"]]),
        ([np.array([1, 2]), np.array([], int)], "array<int64>", [[1, 2], []]),
        ([np.ones((1, 2)), np.ones((0, 2))], "array<array<float>[2]>", [[[1.0, 1.0]], []]),
        (
            [{"a": np.int64(1), "b": "x"}, {"a": 2, "b": None}],
            "row<a: int64, b: string?>",
            [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
        ),
        ([{"x": 1}, {}], "map<string, double>", [{"x": 1.0}, {}]),
    ],
)
def test_everything_else_is_objects(answer: Any, type_: str, wanted: list[Any]) -> None:
    column = to_column(answer, parse_type(type_), 2, "y")
    assert column.dtype == object
    assert column.tolist() == wanted


@pytest.mark.parametrize(
    ("answer", "type_", "code"),
    [
        (np.array([1.0]), "double", "misaligned"),
        (np.array([1.0, 2.0, 3.0]), "double", "misaligned"),
        (np.float64(1), "double", "misaligned"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), "double", "bad_output"),
        (np.array([[1.0], [3.0]]), "array<double>[2]", "bad_output"),
        (np.array([1.5, 2.5]), "int64", "bad_output"),
        (np.array(["1", "2"]), "int64", "bad_output"),
        (np.array([1, 2]), "string", "bad_output"),
        (np.array(["a", 1], dtype=object), "string", "bad_output"),
        (np.array([1, 2]), "boolean", "bad_output"),
        (np.array([1, 1 << 40]), "int32", "bad_output"),
        (np.array([1.0, 1e300]), "float", "bad_output"),
        (np.array([1, 2]), "array<int64>", "bad_output"),
        ([[1, 2], [3.5]], "array<int64>", "bad_output"),
        ([[1, 2], 3], "array<int64>", "bad_output"),
        ([{"a": 1}, {}], "row<a: int64>", "bad_output"),
        ([[1, 2]], "array<int64>", "misaligned"),
    ],
)
def test_an_answer_that_is_not_as_declared_is_an_error(answer: Any, type_: str, code: str) -> None:
    with pytest.raises(NodeError) as caught:
        to_column(answer, parse_type(type_), 2, "y")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("answer", "type_", "said"),
    [
        (np.array(["setosa", "b"]), "int64", "'y' is declared int64, but the model gave string values"),
        (np.array([b"a", b"b"]), "string", "'y' is declared string, but the model gave bytes values"),
        (np.array([1.5, 2.5]), "string", "'y' is declared string, but the model gave double values"),
        (np.array([1, 2]), "boolean", "'y' is declared boolean, but the model gave int64 values"),
        ([np.array(["a"]), np.array([1])], "array<double>", "but the model gave string values"),
    ],
)
def test_what_a_model_gave_is_said_in_the_type_language(answer: Any, type_: str, said: str) -> None:
    with pytest.raises(NodeError, match=said):
        to_column(answer, parse_type(type_), 2, "y")
