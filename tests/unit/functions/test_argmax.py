"""``apply: argmax``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from beam_ensembles.errors import SomeFailed
from beam_ensembles.types import DOUBLE
from tests.support.media import objects
from tests.support.nodes import load_node, problems_of, types_of

NODE: dict[str, Any] = {"apply": "argmax", "inputs": ["x"], "outputs": {"at": None}}
FOLDER = Path("/")


@pytest.mark.parametrize(
    ("type_", "given_"),
    [("array<float>[4]", "int64"), ("array<int32>", "int64"), ("array<double>[2,3]", "array<int64>[2]")],
)
def test_there_is_one_index_a_row(type_: str, given_: str) -> None:
    assert types_of(FOLDER, {"x": type_}, NODE) == {"at": given_}


@given(arrays.arrays(np.float32, (5, 2, 3), elements=st.sampled_from([-1.0, 0.0, 2.0, np.inf, -np.inf])))
def test_tensors_and_lists_are_numpys_argmax(x: np.ndarray[Any, Any]) -> None:
    found = load_node(FOLDER, {"x": "array<float>[2,3]"}, NODE)({"x": x})["at"]
    np.testing.assert_array_equal(found, x.argmax(axis=-1))
    flat = x.reshape(5, 6)
    of_lists = load_node(FOLDER, {"x": "array<float>"}, NODE)({"x": objects(*flat.tolist())})["at"]
    np.testing.assert_array_equal(of_lists, flat.argmax(axis=-1))
    assert of_lists.dtype == np.int64


def test_a_narrower_type_may_be_declared() -> None:
    node = {**NODE, "outputs": {"at": "int32"}}
    found = load_node(FOLDER, {"x": "array<double>[2]"}, node)({"x": np.array([[0.0, 1.0]])})["at"]
    assert found.dtype == np.int32


@pytest.mark.parametrize("as_lists", [False, True])
def test_a_row_with_a_nan_fails_alone(as_lists: bool) -> None:
    x = np.array([[0.0, 1.0], [np.nan, 1.0], [3.0, 1.0]])
    member = load_node(FOLDER, {"x": "array<double>" if as_lists else "array<double>[2]"}, NODE)
    with pytest.raises(SomeFailed) as caught:
        member({"x": objects(*x.tolist()) if as_lists else x})
    assert caught.value.columns["at"].tolist() == [1, 0]
    assert {at: error.code for at, error in caught.value.faults.items()} == {1: "wrong_value"}
    assert "NaN" in caught.value.faults[1].message


def test_a_row_without_scores_fails_alone() -> None:
    with pytest.raises(SomeFailed) as caught:
        load_node(FOLDER, {"x": "array<int64>"}, NODE)({"x": objects([], [2, 7, 7])})
    assert caught.value.columns["at"].tolist() == [1]
    assert caught.value.faults[0].message == "'x' holds no scores"


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        (["t"], [("type_mismatch", "inputs[0]")]),
        (["d"], [("type_mismatch", "inputs[0]")]),
        (["n"], [("type_mismatch", "inputs[0]")]),
        (["x", "d"], [("unknown_port", "inputs[0]")]),
        ({"scores": "x"}, [("unknown_port", "inputs.scores")]),
        (None, [("missing_key", "inputs")]),
    ],
)
def test_what_is_wrong(inputs: Any, wanted: list[tuple[str, str]]) -> None:
    types = {"t": "array<string>", "x": "array<float>", "d": str(DOUBLE), "n": "array<double?>"}
    assert problems_of(FOLDER, types, {**NODE, "inputs": inputs, "outputs": {"at": "int64"}}) == wanted


def test_a_fraction_is_no_index() -> None:
    node = {**NODE, "outputs": {"at": "string"}}
    assert problems_of(FOLDER, {"x": "array<float>"}, node) == [("type_mismatch", "outputs.at")]
