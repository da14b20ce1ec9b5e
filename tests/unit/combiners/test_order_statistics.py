"""``median``, ``max`` and ``min`` are numpy's over the members, value by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.support.nodes import load_node, problems_of, types_of

HERE = Path(__file__).parent
KINDS = {"median": np.median, "max": np.max, "min": np.min}


def node(kind: str, members: int, **more: Any) -> dict[str, Any]:
    return {"combine": kind, "inputs": [f"m{at}" for at in range(members)], "outputs": {"y": None}} | more


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(1, 6).flatmap(lambda members: arrays(np.float64, (members, 4, 2), elements=st.floats())))
def test_values_are_numpys(kind: str, values: Any) -> None:
    columns = {f"m{at}": one for at, one in enumerate(values)}
    made = load_node(HERE, dict.fromkeys(columns, "array<double>[2]"), node(kind, len(values)))(columns)["y"]
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(made, KINDS[kind](values, axis=0), strict=True)


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        (["int32", "int32"], "int32"),
        (["int32", "int64"], "int64"),
        (["float", "float"], "float"),
        (["float", "int32"], "double"),
        (["array<float>[2]", "array<double>[2]"], "array<double>[2]"),
    ],
)
def test_the_greatest_is_of_the_type_that_holds_all_and_a_median_a_double(
    types: list[str], wanted: str
) -> None:
    inputs = {f"m{at}": type_ for at, type_ in enumerate(types)}
    assert types_of(HERE, inputs, node("max", 2)) == {"y": wanted}
    assert types_of(HERE, inputs, node("min", 2)) == {"y": wanted}
    is_tensor = wanted.startswith("array")
    assert types_of(HERE, inputs, node("median", 2)) == {"y": "array<double>[2]" if is_tensor else "double"}


def test_large_whole_numbers_stay_exact() -> None:
    columns = {"m0": np.array([2**62 + 1]), "m1": np.array([2**62])}
    inputs = dict.fromkeys(columns, "int64")
    assert load_node(HERE, inputs, node("max", 2))(columns)["y"].tolist() == [2**62 + 1]
    assert load_node(HERE, inputs, node("min", 2))(columns)["y"].tolist() == [2**62]


def test_a_declared_type_is_kept_where_it_holds_the_answer() -> None:
    columns = {"m0": np.array([1.0]), "m1": np.array([4.0])}
    inputs = dict.fromkeys(columns, "double")
    made = load_node(HERE, inputs, node("median", 2, outputs={"middle": "float"}))(columns)["middle"]
    np.testing.assert_array_equal(made, np.array([2.5], np.float32), strict=True)
    wrong = node("median", 2, outputs={"middle": "int64"})
    assert problems_of(HERE, inputs, wrong) == [("type_mismatch", "outputs.middle")]
