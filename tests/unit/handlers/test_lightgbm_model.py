"""LightGBM's text files: what a node is told of its types, classes, columns and arguments before the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas
import pytest

from beam_ensembles.errors import InvalidEnsemble, Problem, SomeFailed
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.handlers.lightgbm.header import read_header
from beam_ensembles.registry import KINDS
from tests.support.nodes import check_node, load_node, problems_of, types_of

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(120, 2))
INPUTS = {"x": "array<double>[2]", "a": "double", "b": "double", "t": "string"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of each objective, and one of a DataFrame with categories."""
    folder = tmp_path_factory.mktemp("lightgbm")
    small = {"num_threads": 1, "num_leaves": 4, "verbose": -1}
    for objective in ("regression", "binary", "multiclass", "multiclassova"):
        classes = {"num_class": 3} if objective.startswith("multi") else {}
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0 if classes else 0)
        data = lightgbm.Dataset(X, y)
        booster = lightgbm.train({"objective": objective, **classes, **small}, data, 3)
        booster.save_model(folder / f"{objective}.txt")
    frame = pandas.DataFrame({"b": X[:, 0], "colour": pandas.Categorical(list("xyz") * 40)})
    lightgbm.train(small, lightgbm.Dataset(frame, X[:, 0]), 3).save_model(folder / "frame.txt")
    return folder


def node(uri: str, inputs: Any = ("x",), **more: Any) -> dict[str, Any]:
    given = list(inputs) if isinstance(inputs, tuple) else inputs
    return {"model": "lightgbm", "uri": uri, "inputs": given, "outputs": {"y": {}}, **more}


CLASSIFIER = {"model_class": "LGBMClassifier"}


@pytest.mark.parametrize(
    ("uri", "more", "type_"),
    [
        ("regression.txt", {}, "double"),
        ("binary.txt", {}, "double"),
        ("multiclass.txt", {}, "array<double>[3]"),
        ("multiclass.txt", {"inference_args": {"raw_score": True}}, "array<double>[3]"),
        ("binary.txt", CLASSIFIER, "int64"),
        ("multiclass.txt", CLASSIFIER, "int64"),
        ("binary.txt", CLASSIFIER | {"method": "predict_proba"}, "array<double>[2]"),
        ("multiclassova.txt", CLASSIFIER | {"method": "predict_proba"}, "array<double>[3]"),
    ],
)
def test_the_header_gives_the_type(models: Path, uri: str, more: dict[str, Any], type_: str) -> None:
    assert types_of(models, INPUTS, node(uri, **more)) == {"y": type_}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"inputs": ["x", "a"]}, ("signature_mismatch", "inputs")),
        ({"inputs": ["t", "a"]}, ("type_mismatch", "inputs[0]")),
        ({"inputs": {"a": "a", "b": "b"}}, ("signature_mismatch", "inputs")),
        ({"inference_args": {"num_iterations": 2}}, ("unknown_option", "inference_args.num_iterations")),
        ({"inference_args": {"num_iteration": 2.5}}, ("bad_value", "inference_args.num_iteration")),
        ({"inference_args": {"num_threads": 10**9}}, ("bad_value", "inference_args.num_threads")),
        ({"inference_args": {"machines": "a:1"}}, ("unknown_option", "inference_args.machines")),
        ({"method": "predict_proba"}, ("bad_value", "method")),
        (CLASSIFIER, ("signature_mismatch", "model_class")),
        ({"config": {"model_class": "x"}}, ("unsupported_option", "config.model_class")),
        ({"outputs": {"y": "string"}}, ("signature_mismatch", "outputs.y")),
        ({"outputs": {"y": {"from": "label"}}}, ("unknown_port", "outputs.y")),
    ],
)
def test_what_cannot_be_right_is_a_problem(
    models: Path, more: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems_of(models, INPUTS, node("regression.txt") | more)


def test_the_names_of_the_columns_are_compared_with_those_of_the_features(models: Path) -> None:
    inputs = {"a": "double", "b": "double", "colour": "string", "c": "string"}
    assert problems_of(models, inputs, node("frame.txt", ("colour", "a"))) == [
        ("signature_mismatch", "inputs"),
        ("signature_mismatch", "inputs[1]"),
    ]
    text = check_text_of(models, inputs, node("frame.txt", ("a", "c")))
    assert [(one.code, "colour: c" in one.message) for one in text] == [("features_by_position", True)]


def check_text_of(folder: Path, inputs: dict[str, str], told: dict[str, Any]) -> list[Problem]:
    """Returns the warnings of a file with one node."""
    import json

    text = json.dumps({"ensemble": "test", "inputs": inputs, "nodes": {"node": told}})
    return list(check_text(text, KINDS, Files(str(folder), (str(folder),))).warnings)


def test_an_ordered_category_is_refused_since_nothing_tells_it_from_a_number(tmp_path: Path) -> None:
    ordered = pandas.Categorical(list("xyz") * 40, categories=list("xyz"), ordered=True)
    frame = pandas.DataFrame({"b": X[:, 0], "size": ordered})
    booster = lightgbm.train({"num_threads": 1, "verbose": -1}, lightgbm.Dataset(frame, X[:, 0]), 2)
    booster.save_model(tmp_path / "m.txt")
    header = read_header(str(tmp_path / "m.txt"))
    assert (header.kept, header.categorical) == ((("x", "y", "z"),), ())
    told = node("m.txt", ("b", "size"))
    found = problems_of(tmp_path, {"b": "double", "size": "string"}, told)
    assert found == [("signature_mismatch", "uri")]
    with pytest.raises(
        InvalidEnsemble, match=r"trains ordered ones as numbers.*frame\[column\]\.cat\.as_unordered\(\)"
    ):
        check_node(tmp_path, {"b": "double", "size": "string"}, told)


def test_an_unknown_category_fails_its_row_alone(models: Path) -> None:
    member = load_node(models, {"b": "double", "colour": "string"}, node("frame.txt", ("colour", "b")))
    colours = np.array(["x", "violet", "z"], object)
    with pytest.raises(SomeFailed) as caught:
        member({"b": X[:3, 0], "colour": colours})
    assert {at: one.code for at, one in caught.value.faults.items()} == {1: "unknown_category"}
    assert len(caught.value.columns["y"]) == 2


def test_what_a_vote_may_read_is_known_of_the_objective(models: Path) -> None:
    told = {
        uri: check_node(models, INPUTS, node(uri)).told["y"]
        for uri in ("multiclass.txt", "multiclassova.txt")
    }
    assert told["multiclass.txt"].classes == (0, 1, 2)
    assert not told["multiclass.txt"].refused
    assert "do not add up to 1" in told["multiclassova.txt"].refused
    raw = check_node(models, INPUTS, node("multiclass.txt", inference_args={"raw_score": True})).told["y"]
    assert "'raw_score' in its 'inference_args'" in raw.refused


def test_the_rounds_are_noted(models: Path) -> None:
    told = node("binary.txt", inference_args={"start_iteration": 1, "num_iteration": 2})
    (note,) = check_node(models, INPUTS, told).notes
    assert "boosting rounds from 1 up to 3, the last excluded" in note
    assert not check_node(models, INPUTS, node("binary.txt")).notes
