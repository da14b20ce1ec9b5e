"""CatBoost's own files: what a node is told of its types, classes, columns and arguments before the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from catboost import CatBoost

from beam_ensembles.handlers.catboost.header import read_header
from beam_ensembles.registry import KINDS
from tests.support.nodes import check_node, problems_of, types_of

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(80, 2))
INPUTS = {"x": "array<double>[2]", "n": "double", "town": "string", "code": "int64", "may": "int64?"}
LOSSES: dict[str, Any] = {
    "RMSE": X[:, 0],
    "MultiRMSE": X,
    "Logloss": X[:, 0] > 0,
    "MultiClass": np.array(["low", "mid", "high"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)],
    "MultiClassOneVsAll": (X[:, 0] > 0).astype(int) + (X[:, 1] > 0),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of each loss in both formats, and one of a DataFrame with categories."""
    folder = tmp_path_factory.mktemp("catboost")
    small = {"iterations": 2, "depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    for loss, y in LOSSES.items():
        model = CatBoost({"loss_function": loss, **small}).fit(X, y)
        for ending in ("cbm", "json"):
            model.save_model(str(folder / f"{loss}.{ending}"), format=ending)
    frame = pandas.DataFrame(
        {"n": X[:, 0], "town": pandas.Series(["a", "b"] * 40, dtype=object), "code": [1, 2, 3, 4] * 20}
    )
    CatBoost({"cat_features": ["town", "code"], **small}).fit(frame, X[:, 0]).save_model(
        str(folder / "frame.cbm")
    )
    return folder


def node(uri: str, inputs: Any = ("x",), **more: Any) -> dict[str, Any]:
    given = list(inputs) if isinstance(inputs, tuple) else inputs
    return {"model": "catboost", "uri": uri, "inputs": given, "outputs": {"y": {}}, **more}


PROBA = {"method": "predict_proba"}


@pytest.mark.parametrize("ending", ["cbm", "json"])
@pytest.mark.parametrize(
    ("loss", "more", "type_"),
    [
        ("RMSE", {}, "double"),
        ("MultiRMSE", {}, "array<double>[2]"),
        ("Logloss", {}, "boolean"),
        ("Logloss", PROBA, "array<double>[2]"),
        ("Logloss", {"model_class": "CatBoost"}, "double"),
        ("MultiClass", {}, "string"),
        ("MultiClass", PROBA, "array<double>[3]"),
        ("MultiClass", {"inference_args": {"prediction_type": "RawFormulaVal"}}, "array<double>[3]"),
        ("MultiClassOneVsAll", {}, "int64"),
    ],
)
def test_the_header_gives_the_type(
    models: Path, ending: str, loss: str, more: dict[str, Any], type_: str
) -> None:
    assert types_of(models, INPUTS, node(f"{loss}.{ending}", **more)) == {"y": type_}


def test_both_formats_say_the_same(models: Path) -> None:
    for loss in LOSSES:
        found = [read_header(str(models / f"{loss}.{ending}")) for ending in ("cbm", "json")]
        assert found[0] == found[1]
    header = read_header(str(models / "frame.cbm"))
    assert header is not None
    assert header.names == ("n", "town", "code")
    assert header.types == ("number", "category", "category")


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        (node("RMSE.cbm", ("x", "n")), ("signature_mismatch", "inputs")),
        (node("RMSE.cbm", **PROBA), ("signature_mismatch", "method")),
        (node("RMSE.cbm", model_class="CatBoostClassifier"), ("signature_mismatch", "model_class")),
        (node("MultiClass.cbm", labels=["a", "b", "c"]), ("signature_mismatch", "labels")),
        (node("frame.cbm", ("n", "town", "may"), nulls="missing"), ("signature_mismatch", "inputs[2]")),
        (node("frame.cbm", {"n": "n", "town": "n", "code": "code"}), ("signature_mismatch", "inputs")),
        (node("RMSE.cbm", inference_args={"ntree_end": "3"}), ("bad_value", "inference_args.ntree_end")),
        (
            node("MultiClass.cbm", inference_args={"prediction_type": "Class"}, **PROBA),
            ("unknown_option", "inference_args.prediction_type"),
        ),
        (
            node("RMSE.cbm", inference_args={"task_type": "GPU"}),
            ("unknown_option", "inference_args.task_type"),
        ),
        (node("RMSE.cbm") | {"outputs": {"y": "string"}}, ("signature_mismatch", "outputs.y")),
    ],
)
def test_what_cannot_be_right_is_a_problem(
    models: Path, told: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems_of(models, INPUTS, told)


def test_the_classes_of_the_file_are_those_of_votes(models: Path) -> None:
    told = check_node(models, INPUTS, node("MultiClass.cbm", **PROBA))
    assert told.told["y"].classes == ("high", "low", "mid")
    assert told.told["y"].holds == "scores"
    loaded = KINDS["model", "catboost"].load(told)
    assert loaded.meanings == dict(told.told)  # type: ignore[attr-defined]
    labels = check_node(models, INPUTS, node("MultiClass.cbm")).told["y"]
    assert (labels.holds, labels.classes) == ("labels", ("high", "low", "mid"))
    each = check_node(models, INPUTS, node("MultiClassOneVsAll.cbm", **PROBA)).told["y"]
    assert "do not add up to 1" in each.refused


def test_the_trees_are_noted(models: Path) -> None:
    (note,) = check_node(models, INPUTS, node("RMSE.cbm", inference_args={"ntree_end": 1})).notes
    assert "trees 0 to 1, the last excluded" in note
