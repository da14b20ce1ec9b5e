"""``first`` gives a row the first value that there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import validity
from tests.support.nodes import load_node, problems_of, types_of

HERE = Path(__file__).parent
Rows = list[list[float | None]]


def node(members: int) -> dict[str, Any]:
    return {"combine": "first", "inputs": [f"m{at}" for at in range(members)], "outputs": {"y": None}}


def columns_of(rows: Rows, members: int, dtype: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for at in range(members):
        values = [row[at] for row in rows]
        blank = None if dtype is object else 0
        columns[f"m{at}"] = np.array([blank if value is None else value for value in values], dtype=dtype)
        present = np.array([value is not None for value in values])
        if not present.all():
            columns[validity(f"m{at}")] = present
    return columns


@pytest.mark.parametrize(("type_", "dtype"), [("double", np.float64), ("string", object)])
@given(
    st.integers(1, 4).flatmap(
        lambda members: st.lists(
            st.lists(st.none() | st.integers(0, 9), min_size=members, max_size=members),
            min_size=1,
            max_size=8,
        )
    )
)
def test_it_is_the_first_of_each_row(type_: str, dtype: Any, rows: Rows) -> None:
    members = len(rows[0])
    if dtype is object:
        rows = [[value if value is None else str(value) for value in row] for row in rows]  # type: ignore[misc]
    inputs = {f"m{at}": f"{type_}?" for at in range(members)}
    assert types_of(HERE, inputs, node(members)) == {"y": f"{type_}?"}
    made = load_node(HERE, inputs, node(members))(columns_of(rows, members, dtype))
    wanted = [next((value for value in row if value is not None), None) for row in rows]
    present = made.get(validity("y"), np.ones(len(rows), np.bool_))
    assert present.tolist() == [value is not None for value in wanted]
    found = [value if is_there else None for value, is_there in zip(made["y"], present, strict=True)]
    assert found == wanted
    assert made["y"].dtype == dtype


def test_it_is_nullable_only_where_all_members_are() -> None:
    inputs = {"m0": "double?", "m1": "double"}
    assert types_of(HERE, inputs, node(2)) == {"y": "double"}
    columns = {
        "m0": np.array([0.0, 1.0]),
        validity("m0"): np.array([False, True]),
        "m1": np.array([2.0, 3.0]),
    }
    made = load_node(HERE, inputs, node(2))(columns)
    assert made.keys() == {"y"}
    assert made["y"].tolist() == [2.0, 1.0]
    declared = node(2) | {"outputs": {"y": "double"}}
    assert types_of(HERE, dict.fromkeys(inputs, "double?"), declared) == {"y": "double?"}


def test_tensors_and_numbers_of_several_types() -> None:
    inputs = {"m0": "array<float>[2]?", "m1": "array<double>[2]"}
    assert types_of(HERE, inputs, node(2)) == {"y": "array<double>[2]"}
    columns = {
        "m0": np.array([[1, 2], [0, 0]], np.float32),
        validity("m0"): np.array([True, False]),
        "m1": np.array([[3.0, 4.0], [5.0, 6.0]]),
    }
    made = load_node(HERE, inputs, node(2))(columns)["y"]
    np.testing.assert_array_equal(made, np.array([[1.0, 2.0], [5.0, 6.0]]), strict=True)


def test_lists_of_any_length() -> None:
    inputs = {"m0": "array<string>?", "m1": "array<string>"}
    lists = np.empty(2, object)
    lists[:] = [["a"], None]
    others = np.empty(2, object)
    others[:] = [["b", "c"], ["d", "e"]]
    columns = {"m0": lists, validity("m0"): np.array([True, False]), "m1": others}
    assert load_node(HERE, inputs, node(2))(columns)["y"].tolist() == [["a"], ["d", "e"]]


@pytest.mark.parametrize(
    "other", ["string", "boolean", "array<double>[2]", "array<double>", "row<a: double>"]
)
def test_members_are_of_one_type(other: str) -> None:
    assert problems_of(HERE, {"m0": "double?", "m1": other}, node(2)) == [("type_mismatch", "inputs[1]")]


@pytest.mark.parametrize("combiner", ["first", "max", "min"])
def test_whole_numbers_are_never_rounded(combiner: str) -> None:
    made = load_node(HERE, {"m0": "int64", "m1": "double"}, node(2) | {"combine": combiner})
    small = {"m0": np.array([2**53 - 1]), "m1": np.array([2.0**53])}
    assert made(small)["y"].tolist() == [2.0**53 if combiner == "max" else 2**53 - 1]
    with pytest.raises(NodeError, match="'m0' is beyond 2") as caught:
        made({"m0": np.array([2**53 + 1]), "m1": np.array([2.0])})
    assert caught.value.code == "wrong_value"
    wide = load_node(HERE, {"m0": "int64", "m1": "int32"}, node(2) | {"combine": combiner})
    found = wide({"m0": np.array([2**53 + 1]), "m1": np.array([2], np.int32)})["y"]
    assert found.tolist() == [2 if combiner == "min" else 2**53 + 1]


def test_a_number_that_is_not_taken_may_be_large() -> None:
    made = load_node(HERE, {"m0": "double?", "m1": "int64"}, node(2))
    assert made({"m0": np.array([0.5]), "m1": np.array([2**53 + 1])})["y"].tolist() == [0.5]
