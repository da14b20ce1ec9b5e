"""A row alone gets what it gets among others, also from models that squeeze their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from scipy.sparse import csr_array

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.support.results import batch_of_one, to_columns_of_one
from beam_ensembles.types import parse_type
from tests.support import squeezing
from tests.support.nodes import check_node, load_node


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("framework", ["sklearn", "python", "onnx", "pytorch"])
def test_a_model_that_squeezes_answers_one_row(tmp_path: Path, framework: str, width: int) -> None:
    if framework == "pytorch":
        pytest.importorskip("torch")
    made = getattr(squeezing, f"make_{framework}")(tmp_path, width)
    squeezing.check_rows(load_node(tmp_path, squeezing.INPUT, made), width)


def test_so_does_one_that_answers_with_a_text(tmp_path: Path) -> None:
    joblib.dump(squeezing.Texts(), tmp_path / "texts.joblib")
    model = {"model": "sklearn", "uri": "texts.joblib", "inputs": ["x"], "outputs": {"y": "string"}}
    member = load_node(tmp_path, squeezing.INPUT, model)
    assert [member({"x": squeezing.X[at : at + 1]})["y"].tolist() for at in range(3)] == [
        ["many"],
        ["many"],
        ["many"],
    ]
    assert member({"x": squeezing.X - 2})["y"].tolist() == ["few", "many", "few"]


@pytest.mark.parametrize(
    ("answer", "type_", "wanted"),
    [
        (np.float32(1.5), "double", (1,)),
        (7, "int64", (1,)),
        (np.str_("a"), "string", (1,)),
        (b"a\0", "bytes", (1,)),
        (np.array("a", dtype=object), "string", (1,)),
        (np.ones(3), "array<float>[3]", (1, 3)),
        ([1.0, 2.0, 3.0], "array<float>[3]", (1, 3)),
        (np.ones((2, 3)), "array<float>[2,3]", (1, 2, 3)),
        (np.ones(5), "array<float>", (1, 5)),
        (np.ones((4, 2)), "array<array<float>[2]>", (1, 4, 2)),
    ],
)
def test_one_value_without_its_first_dimension_is_a_batch_of_one(
    answer: Any, type_: str, wanted: tuple[int, ...]
) -> None:
    assert batch_of_one(answer, parse_type(type_)).shape == wanted


@pytest.mark.parametrize(
    ("answer", "type_"),
    [
        (np.ones((1, 3)), "array<float>[3]"),
        (np.ones(2), "array<float>[3]"),
        (np.ones(2), "double"),
        (np.ones(1), "double"),
        (np.ones((3, 1)), "array<float>[3]"),
        (np.ones((3, 3)), "array<float>[3]"),
        ([[1.0, 2.0]], "array<float>"),
        ([1.0, 2.0], "array<float>"),
        (np.fromiter([["a", "b"]], dtype=object, count=1), "array<string>"),
        ({"a": 1}, "row<a: int64>"),
        ({"a": 1}, "double"),
        (csr_array([[1.0]]), "double"),
        (csr_array([[1.0]]), "array<double>[1]"),
        ({"a": 1}, "map<string, int64>"),
        (["a", "b"], "string"),
    ],
)
def test_no_other_answer_is_changed(answer: Any, type_: str) -> None:
    assert batch_of_one(answer, parse_type(type_)) is answer


def test_a_text_keeps_the_zeros_at_its_end() -> None:
    assert batch_of_one(b"a\0", parse_type("bytes")).tolist() == [b"a\0"]


@pytest.mark.parametrize(("answer", "rows"), [(np.ones(3), 2), (np.ones(3), 3), (np.float32(1), 2)])
def test_it_is_done_for_one_row_alone(tmp_path: Path, answer: Any, rows: int) -> None:
    made = squeezing.make_sklearn(tmp_path, 3)
    node = check_node(tmp_path, squeezing.INPUT, made)
    with pytest.raises(NodeError):
        to_columns_of_one(node, answer, rows)


def test_a_function_is_no_model_and_gives_one_value_a_row(tmp_path: Path) -> None:
    function = {
        "apply": "python",
        "function": f"{squeezing.HERE}.mean",
        "inputs": ["x"],
        "outputs": {"y": "double"},
    }
    with pytest.raises(NodeError, match="a single value"):
        load_node(tmp_path, {"x": "double"}, function)({"x": np.ones(1)})
