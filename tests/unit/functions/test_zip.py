"""``apply: zip``."""

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
TYPES = {"names": "array<string>", "boxes": "array<array<float>[4]>", "scores": "array<float>"}
FIELDS = {"label": "names", "box": "boxes", "score": "scores"}
FOUND = "array<row<label: string, box: array<float>[4], score: float>>"


def node_of(inputs: Any = FIELDS, **more: Any) -> dict[str, Any]:
    return {"apply": "zip", "inputs": inputs, "outputs": {"found": None}, **more}


def test_fields_are_named_by_ports_or_columns() -> None:
    assert types_of(FOLDER, TYPES, node_of()) == {"found": FOUND}
    assert types_of(FOLDER, TYPES, node_of(["scores", "names"])) == {
        "found": "array<row<scores: float, names: string>>"
    }
    tensors = {"a": "array<int64>[2]", "b": "array<double>[2,3]", "c": "array<string?>"}
    assert types_of(FOLDER, tensors, node_of(["a", "b", "c"])) == {
        "found": "array<row<a: int64, b: array<double>[3], c: string?>>"
    }


@given(st.lists(st.lists(st.tuples(st.text(max_size=3), st.floats(0, 1)), max_size=4), max_size=5))
def test_items_stay_together(rows: list[list[tuple[str, float]]]) -> None:
    columns = {
        "names": objects(*[[name for name, _ in row] for row in rows]),
        "boxes": objects(*[[[score] * 4 for _, score in row] for row in rows]),
        "scores": objects(*[np.array([score for _, score in row]) for row in rows]),
    }
    found = load_node(FOLDER, TYPES, node_of())(columns)["found"]
    assert found.tolist() == [
        [{"label": name, "box": [score] * 4, "score": score} for name, score in row] for row in rows
    ]


def test_tensors_are_lists_of_their_first_dimension() -> None:
    types = {"a": "array<int64>[2]", "b": "array<double>[2,3]"}
    b = np.arange(12.0).reshape(2, 2, 3)
    found = load_node(FOLDER, types, node_of(["a", "b"]))({"a": np.array([[1, 2], [3, 4]]), "b": b})["found"]
    assert found[1] == [{"a": 3, "b": [6.0, 7.0, 8.0]}, {"a": 4, "b": [9.0, 10.0, 11.0]}]


def test_lists_of_different_lengths_fail_their_row() -> None:
    columns = {"names": objects(["a"], ["b", "c"]), "scores": objects([0.5], [0.1])}
    with pytest.raises(SomeFailed) as caught:
        load_node(FOLDER, TYPES, node_of(["names", "scores"]))(columns)
    assert caught.value.columns["found"].tolist() == [[{"names": "a", "scores": 0.5}]]
    fault = caught.value.faults[1]
    assert (fault.code, "'names' 2, 'scores' 1" in fault.message) == ("wrong_length", True)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"inputs": ["names", "x"]}, [("type_mismatch", "inputs[1]")]),
        ({"inputs": {"a": "three", "b": "two"}}, [("type_mismatch", "inputs.b")]),
        ({"inputs": ["names", "names"]}, [("bad_name", "inputs[1]")]),
        ({"inputs": {"a.b": "names"}}, [("bad_name", 'inputs["a.b"]')]),
        ({"inputs": None}, [("missing_key", "inputs")]),
        ({"outputs": {"found": "array<row<label: string>>"}}, [("type_mismatch", "outputs.found")]),
    ],
)
def test_what_is_wrong(change: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    types = {**TYPES, "x": "double", "two": "array<double>[2]", "three": "array<double>[3]"}
    node = {**node_of(), "outputs": {"found": FOUND}, **change}
    assert problems_of(FOLDER, types, node) == wanted
