"""``rank`` gives a row's candidates as Python's own stable sort by descending score orders them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import SomeFailed
from tests.support.nodes import load_node, problems_of, types_of

HERE = Path(__file__).parent
INPUTS = {"captions": "array<string>", "p": "array<double>"}
NODE = {"combine": "rank", "inputs": {"candidates": "captions", "scores": "p"}, "outputs": {"top": None}}


def objects(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


ROWS = st.lists(
    st.lists(st.tuples(st.text(max_size=3), st.integers(-3, 3)), max_size=6), min_size=1, max_size=6
)


@given(ROWS, st.none() | st.integers(1, 7), st.sampled_from(["int64", "double", "float"]), st.booleans())
def test_lists_of_any_length(
    rows: list[list[tuple[str, int]]], k: int | None, element: str, as_arrays: bool
) -> None:
    dtype = {"int64": np.int64, "double": np.float64, "float": np.float32}[element]
    scores = [np.array([score for _, score in row], dtype) for row in rows]
    columns = {
        "captions": objects([[text for text, _ in row] for row in rows]),
        "p": objects(scores if as_arrays else [one.tolist() for one in scores]),
    }
    made = load_node(HERE, INPUTS | {"p": f"array<{element}>"}, NODE | ({"k": k} if k else {}))(columns)[
        "top"
    ]
    wanted = [sorted(row, key=lambda one: -one[1])[:k] for row in rows]
    assert made.tolist() == [[{"candidate": text, "score": score} for text, score in row] for row in wanted]
    kinds = {type(item["score"]) for row in made for item in row}
    assert kinds <= {int if element == "int64" else float}


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=5), st.integers(1, 4)
)
def test_tensors(rows: list[list[int]], k: int) -> None:
    inputs = {"captions": "array<int64>[3]", "p": "array<float>[3]"}
    columns = {"captions": np.tile([7, 8, 9], (len(rows), 1)), "p": np.array(rows, np.float32)}
    made = load_node(HERE, inputs, NODE | {"k": k})(columns)["top"]
    wanted = [sorted(zip([7, 8, 9], row, strict=True), key=lambda one: -one[1])[:k] for row in rows]
    assert made.tolist() == [[{"candidate": one, "score": score} for one, score in row] for row in wanted]


def test_one_list_far_longer_than_the_others() -> None:
    scores = [[float(at % 7) for at in range(300)], *([[0.5]] * 40), []]
    columns = {
        "captions": objects([[str(at) for at in range(len(one))] for one in scores]),
        "p": objects(scores),
    }
    for k in (2, 50):
        made = load_node(HERE, INPUTS, NODE | {"k": k})(columns)["top"]
        for one, row in zip(scores, made, strict=True):
            wanted = sorted(range(len(one)), key=lambda at, one=one: -one[at])[:k]  # type: ignore[misc]
            assert [item["candidate"] for item in row] == [str(at) for at in wanted]


def test_extreme_scores_and_no_numbers() -> None:
    whole = {"captions": objects([["a", "b", "c"]]), "p": np.array([[-(2**63), 2**63 - 1, 0]])}
    made = load_node(HERE, INPUTS | {"p": "array<int64>[3]"}, NODE)(whole)["top"]
    assert [one["candidate"] for one in made[0]] == ["b", "c", "a"]
    fractions = {"captions": objects([["a", "b", "c"]]), "p": np.array([[np.nan, -np.inf, np.inf]])}
    made = load_node(HERE, INPUTS | {"p": "array<double>[3]"}, NODE)(fractions)["top"]
    assert [one["candidate"] for one in made[0]] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("declared", "wanted"),
    [
        (None, "array<row<candidate: string, score: double>>"),
        (
            "array<row<caption: string, probability: float>>",
            "array<row<caption: string, probability: float>>",
        ),
        ("array<row<score: double, caption: string>>", "array<row<score: double, caption: string>>"),
        ("array<row<p: double?, candidate: string>>", "array<row<p: double?, candidate: string>>"),
    ],
)
def test_the_declared_type_names_the_fields(declared: str | None, wanted: str) -> None:
    node = NODE | {"outputs": {"best": declared}}
    assert types_of(HERE, INPUTS, node) == {"best": wanted}
    columns = {"captions": objects([["a", "b"]]), "p": objects([[0.25, 0.5]])}
    names = [part.split(":")[0].split("<")[-1].strip() for part in wanted.split(",")]
    texts = [name for name in names if name.startswith("ca")]
    (row,) = load_node(HERE, INPUTS, node)(columns)["best"]
    assert [list(one) for one in row] == [names, names]
    assert [one[texts[0]] for one in row] == ["b", "a"]


def test_more_lists_go_along() -> None:
    inputs = {
        "names": "array<string>",
        "boxes": "array<array<float>[2]>",
        "areas": "array<int32>",
        "p": "array<float>",
    }
    node = {
        "combine": "rank",
        "k": 2,
        "inputs": {"name": "names", "box": "boxes", "area": "areas", "scores": "p"},
        "outputs": {
            "found": None,
            "renamed": "array<row<score: double, what: string, box: array<float>[2], size: double>>",
        },
    }
    assert types_of(HERE, inputs, node)["found"] == (
        "array<row<name: string, box: array<float>[2], area: int32, score: float>>"
    )
    columns = {
        "names": objects([["a", "b", "c"]]),
        "boxes": objects([[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]]),
        "areas": objects([[10, 20, 30]]),
        "p": objects([np.array([0.5, 0.25, 0.75], np.float32)]),
    }
    made = load_node(HERE, inputs, node)(columns)
    assert made["found"][0] == [
        {"name": "c", "box": [4.0, 5.0], "area": 30, "score": 0.75},
        {"name": "a", "box": [0.0, 1.0], "area": 10, "score": 0.5},
    ]
    assert made["renamed"][0][0] == {"score": 0.75, "what": "c", "box": [4.0, 5.0], "size": 30.0}
    assert isinstance(made["renamed"][0][0]["size"], float)


def test_a_tensor_of_boxes_is_a_list_of_boxes() -> None:
    inputs = {"captions": "array<float>[2,3]", "p": "array<double>[2]"}
    assert types_of(HERE, inputs, NODE) == {"top": "array<row<candidate: array<float>[3], score: double>>"}
    columns = {"captions": np.arange(6, dtype=np.float32).reshape(1, 2, 3), "p": np.array([[0.0, 1.0]])}
    (row,) = load_node(HERE, inputs, NODE)(columns)["top"]
    assert row == [{"candidate": [3, 4, 5], "score": 1.0}, {"candidate": [0, 1, 2], "score": 0.0}]


def test_a_row_with_too_few_scores_fails_alone() -> None:
    columns = {
        "captions": objects([["a", "b"], ["c"], ["d"]]),
        "p": objects([[0.5, 1.0], [0.5, 0.25], [0.125]]),
    }
    with pytest.raises(SomeFailed) as caught:
        load_node(HERE, INPUTS, NODE)(columns)
    assert caught.value.faults.keys() == {1}
    assert caught.value.faults[1].code == "misaligned"
    assert "'captions' has 1 items, but 'p' has 2" in caught.value.faults[1].message
    assert [[one["candidate"] for one in row] for row in caught.value.columns["top"]] == [["b", "a"], ["d"]]


@pytest.mark.parametrize(
    ("inputs", "more", "problem"),
    [
        ({}, {"k": 0}, ("bad_value", "k")),
        ({}, {"inputs": ["captions", "p"]}, ("unknown_port", "inputs[0]")),
        ({}, {"inputs": {"candidates": "captions"}}, ("missing_key", "inputs.scores")),
        ({}, {"inputs": {"scores": "p"}}, ("missing_key", "inputs.candidates")),
        (
            {},
            {"inputs": {"candidates": "captions", "candidate": "p", "scores": "p"}},
            ("bad_name", "inputs.candidates"),
        ),
        ({"captions": "string"}, {}, ("type_mismatch", "inputs.candidates")),
        ({"p": "array<string>"}, {}, ("type_mismatch", "inputs.scores")),
        ({"p": "array<double?>"}, {}, ("type_mismatch", "inputs.scores")),
        ({"p": "array<double>[2,2]"}, {}, ("type_mismatch", "inputs.scores")),
        ({"p": "array<double>[2]", "captions": "array<int64>[3]"}, {}, ("type_mismatch", "inputs.scores")),
        ({}, {"outputs": {"top": "array<string>"}}, ("type_mismatch", "outputs.top")),
        ({}, {"outputs": {"top": "array<row<a: string>>"}}, ("type_mismatch", "outputs.top")),
        ({}, {"outputs": {"top": "array<row<a: double, b: string>>"}}, ("type_mismatch", "outputs.top")),
        ({}, {"outputs": {"top": "array<row<a: string, b: int64>>"}}, ("type_mismatch", "outputs.top")),
        (
            {"captions": "array<string?>"},
            {"outputs": {"top": "array<row<a: string, b: double>>"}},
            ("type_mismatch", "outputs.top"),
        ),
        ({}, {"outputs": {"a": {"from": "candidates"}}}, ("unknown_port", "outputs.a")),
    ],
)
def test_a_mistake_is_said_at_its_place(
    inputs: dict[str, str], more: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problems_of(HERE, INPUTS | inputs, NODE | more) == [problem]
