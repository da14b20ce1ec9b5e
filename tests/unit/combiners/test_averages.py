"""Averages give what scikit-learn's VotingRegressor gives, value for value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_diabetes
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from tests.support.nodes import load_node, types_of

HERE = Path(__file__).parent
NUMBER = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("weights", [None, [1, 2, 3], [0.1, 0.2, 0.7], [0, 0, 1]], ids=str)
def test_an_average_is_scikit_learns(weights: list[float] | None) -> None:
    x, y = load_diabetes(return_X_y=True)
    members = [
        ("a", LinearRegression()),
        ("b", DecisionTreeRegressor(max_depth=3, random_state=0)),
        ("c", DecisionTreeRegressor(max_depth=5, random_state=0)),
    ]
    model = VotingRegressor(members, weights=weights).fit(x, y)
    columns = {name: one.predict(x) for (name, _), one in zip(members, model.estimators_, strict=True)}
    kind: dict[str, Any] = (
        {"combine": "weighted_mean", "weights": weights} if weights else {"combine": "mean"}
    )
    node = kind | {"inputs": list(columns), "outputs": {"y": None}}
    assert types_of(HERE, dict.fromkeys(columns, "double"), node) == {"y": "double"}
    answer = load_node(HERE, dict.fromkeys(columns, "double"), node)(columns)
    np.testing.assert_array_equal(answer["y"], model.predict(x), strict=True)


@given(arrays(np.float64, (3, 4, 2, 2), elements=NUMBER), st.sampled_from([None, [1, 0, 2], [0.3, 0.3, 0.4]]))
def test_tensors_are_averaged_value_by_value(values: Any, weights: list[float] | None) -> None:
    columns = dict(zip("abc", values, strict=True))
    kind: dict[str, Any] = (
        {"combine": "weighted_mean", "weights": weights} if weights else {"combine": "mean"}
    )
    node = kind | {"inputs": ["a", "b", "c"], "outputs": {"y": "array<double>[2,2]"}}
    answer = load_node(HERE, dict.fromkeys(columns, "array<double>[2,2]"), node)(columns)["y"]
    for row, y, x in np.ndindex(4, 2, 2):
        assert answer[row, y, x] == pytest.approx(np.average(values[:, row, y, x], weights=weights), abs=1e-9)


def test_whole_numbers_and_floats_give_doubles_and_a_declared_float_is_kept() -> None:
    columns = {"a": np.array([1, 2]), "b": np.array([2.0, 4.0], np.float32)}
    node = {"combine": "mean", "inputs": ["a", "b"], "outputs": {"y": None}}
    inputs = {"a": "int64", "b": "float"}
    np.testing.assert_array_equal(
        load_node(HERE, inputs, node)(columns)["y"], np.array([1.5, 3.0]), strict=True
    )
    as_float = node | {"outputs": {"y": "float"}}
    assert load_node(HERE, inputs, as_float)(columns)["y"].dtype == np.float32
