"""``apply: softmax``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
