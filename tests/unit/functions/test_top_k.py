"""``apply: top_k``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import SomeFailed
from tests.support.media import objects
from tests.support.nodes import load_node, problems_of, types_of

FOLDER = Path("/")
OUTPUTS = {"at": {"from": "indices"}, "best": {"from": "scores"}}


def node_of(k: Any, **more: Any) -> dict[str, Any]:
    return {"apply": "top_k", "k": k, "inputs": ["x"], "outputs": OUTPUTS, **more}


@pytest.mark.parametrize(
    ("type_", "indices", "scores"),
    [
        ("array<float>[4]", "array<int64>[2]", "array<float>[2]"),
        ("array<int32>[3,4]", "array<int64>[3,2]", "array<int32>[3,2]"),
        ("array<int32>", "array<int64>", "array<int32>"),
    ],
)
def test_there_are_k_of_a_tensor_and_up_to_k_of_a_list(type_: str, indices: str, scores: str) -> None:
    assert types_of(FOLDER, {"x": type_}, node_of(2)) == {"at": indices, "best": scores}


def sorted_by_hand(row: list[float], k: int) -> list[int]:
    return sorted(range(len(row)), key=lambda at: (-row[at], at))[:k]


@given(
    st.lists(st.lists(st.sampled_from([-5.0, 0.0, 0.5, 9.0]), min_size=4, max_size=4), min_size=1),
    st.integers(1, 4),
)
def test_the_best_come_first_and_of_equals_the_lower_index(rows: list[list[float]], k: int) -> None:
    x = np.array(rows, np.float32)
    found = load_node(FOLDER, {"x": "array<float>[4]"}, node_of(k))({"x": x})
    wanted = [sorted_by_hand(row, k) for row in rows]
    assert found["at"].tolist() == wanted
    assert found["best"].tolist() == [
        [row[at] for at in best] for row, best in zip(rows, wanted, strict=True)
    ]
    assert (found["at"].dtype, found["best"].dtype) == (np.int64, np.float32)


@given(st.integers(0, 9), st.integers(1, 9), st.sampled_from([3, 1_000]))
def test_of_many_scores_the_same_are_found(seed: int, k: int, values: int) -> None:
    x = np.random.default_rng(seed).integers(-values, values, (3, 2, 80)).astype(np.float32)
    found = load_node(FOLDER, {"x": "array<float>[2,80]"}, node_of(k))({"x": x})
    wanted = [[sorted_by_hand(scores, k) for scores in row] for row in x.tolist()]
    assert found["at"].tolist() == wanted
    assert (found["at"].dtype, found["best"].dtype) == (np.int64, np.float32)


@given(st.lists(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=6), min_size=1))
def test_lists_of_whole_numbers_are_compared_exactly(rows: list[list[int]]) -> None:
    found = load_node(FOLDER, {"x": "array<int64>"}, node_of(3))({"x": objects(*rows)})
    assert found["at"].tolist() == [sorted_by_hand(row, 3) for row in rows]
    assert found["best"].tolist() == [sorted(row, reverse=True)[:3] for row in rows]


def test_the_least_whole_number_is_the_last() -> None:
    x = np.array([[-(2**31), 5, 2**31 - 1]], np.int32)
    assert load_node(FOLDER, {"x": "array<int32>[3]"}, node_of(3))({"x": x})["at"].tolist() == [[2, 1, 0]]


def test_a_tensor_is_searched_along_its_last_dimension() -> None:
    x = np.random.default_rng(1).normal(size=(3, 2, 5))
    found = load_node(FOLDER, {"x": "array<double>[2,5]"}, node_of(2))({"x": x})
    np.testing.assert_array_equal(found["best"], -np.sort(-x, axis=-1)[..., :2])
    np.testing.assert_array_equal(np.take_along_axis(x, found["at"], axis=-1), found["best"])


def test_bad_rows_fail_alone() -> None:
    with pytest.raises(SomeFailed) as caught:
        load_node(FOLDER, {"x": "array<double>"}, node_of(2))({"x": objects([1.0], [], [np.nan])})
    assert sorted(caught.value.faults) == [1, 2]
    assert caught.value.columns["at"].tolist() == [[0]]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"k": 0}, [("bad_value", "k")]),
        ({"k": 5}, [("bad_value", "k")]),
        ({"k": "2"}, [("wrong_type", "k")]),
        ({"k": None}, [("missing_key", "k")]),
        ({"outputs": {"best": None}}, [("unknown_port", "outputs.best")]),
        (
            {"outputs": {"at": {"from": "indices", "type": "array<int64>[3]"}}},
            [("type_mismatch", "outputs.at")],
        ),
        ({"inputs": ["y"]}, [("type_mismatch", "inputs[0]")]),
    ],
)
def test_what_is_wrong(change: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert problems_of(FOLDER, {"x": "array<double>[4]", "y": "double"}, {**node_of(2), **change}) == wanted
