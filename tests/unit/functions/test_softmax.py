"""``apply: softmax``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import SomeFailed
from tests.support.media import objects
from tests.support.nodes import load_node, problems_of, types_of

NODE: dict[str, Any] = {"apply": "softmax", "inputs": ["x"], "outputs": {"p": None}}


def test_a_tensor_keeps_its_type(tmp_path: Path) -> None:
    assert types_of(tmp_path, {"x": "array<float>[3]"}, NODE) == {"p": "array<float>[3]"}
    scores = np.array([[0.0, 0.0, 0.0], [1000.0, 0.0, -1000.0]], np.float32)
    found = load_node(tmp_path, {"x": "array<float>[3]"}, NODE)({"x": scores})["p"]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[1 / 3] * 3, [1, 0, 0]], rtol=1e-6)


def test_lists_may_have_any_length(tmp_path: Path) -> None:
    assert types_of(tmp_path, {"x": "array<double>"}, NODE) == {"p": "array<double>"}
    found = load_node(tmp_path, {"x": "array<double>"}, NODE)({"x": objects([np.log(3.0), 0.0], [], [7.0])})[
        "p"
    ]
    np.testing.assert_allclose(found[0], [0.75, 0.25])
    assert found[1:].tolist() == [[], [1.0]]


@pytest.mark.parametrize("as_lists", [False, True])
@pytest.mark.parametrize("bad", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_a_row_without_probabilities_fails_alone(tmp_path: Path, bad: list[float], as_lists: bool) -> None:
    x = np.array([[1e308, -1e308], bad, [-np.inf, 2.0], [3.0, 3.0]])
    member = load_node(tmp_path, {"x": "array<double>" if as_lists else "array<double>[2]"}, NODE)
    with pytest.raises(SomeFailed) as caught:
        member({"x": objects(*x.tolist()) if as_lists else x})
    assert caught.value.columns["p"].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    assert {at: error.code for at, error in caught.value.faults.items()} == {1: "wrong_value"}
    assert "no probabilities" in caught.value.faults[1].message


def test_a_row_fails_for_one_bad_group_of_a_tensor(tmp_path: Path) -> None:
    x = np.array([[[0.0, 0.0], [np.nan, 0.0]], [[1.0, 1.0], [2.0, 2.0]]], np.float32)
    with pytest.raises(SomeFailed) as caught:
        load_node(tmp_path, {"x": "array<float>[2,2]"}, NODE)({"x": x})
    assert caught.value.columns["p"].tolist() == [[[0.5, 0.5], [0.5, 0.5]]]
    assert list(caught.value.faults) == [0]


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        (["t"], [("type_mismatch", "inputs[0]")]),
        (["i"], [("type_mismatch", "inputs[0]")]),
        (["x", "y"], [("unknown_port", "inputs[0]")]),
        ({"scores": "x"}, [("unknown_port", "inputs.scores")]),
        (None, [("missing_key", "inputs")]),
    ],
)
def test_what_is_wrong(tmp_path: Path, inputs: Any, wanted: list[tuple[str, str]]) -> None:
    types = {"t": "string", "i": "array<int64>", "x": "array<float>", "y": "array<float>"}
    assert (
        problems_of(tmp_path, types, {**NODE, "inputs": inputs, "outputs": {"p": "array<float>"}}) == wanted
    )
