"""Nodes of XGBoost: what their own header says, and what they answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
    NodeError,
)
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.xgboost.header import Header, read_header
from beam_ensembles.registry import KINDS
from beam_ensembles.types import dtype_of, parse_type
from tests.support.models import cancer, diabetes, iris
from tests.support.nodes import check_node, load_node, problems_of, types_of

FOUR = {"x": "array<double>[4]"}
TEN = {"x": "array<double>[10]"}
THIRTY = {"x": "array<double>[30]"}


def node(uri: str, **more: Any) -> dict[str, Any]:
    return {"model": "xgboost", "uri": uri, "inputs": ["x"], "outputs": {"y": None}} | more


@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("iris", Header(4, 3, 1, "multi:softprob")),
        ("cancer", Header(30, 0, 1, "binary:logistic")),
        ("diabetes", Header(10, 0, 1, "reg:squarederror")),
        ("two", Header(10, 0, 2, "reg:squarederror")),
        ("softmax", Header(4, 3, 1, "multi:softmax")),
        ("lines", Header(10, 0, 1, "reg:squarederror")),
    ],
)
def test_the_header_is_read_from_both_formats(
    xgboost_models: Path, ending: str, name: str, header: Header
) -> None:
    assert read_header(str(xgboost_models / f"{name}.{ending}")) == header


@pytest.mark.parametrize("text", ["", "{}", "not json", '{"learner_model_param": {"num_class": "0"}}'])
def test_what_is_no_model_is_no_header(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ModelFormatError):
        read_header(str(tmp_path / "model.json"))
    assert problems_of(tmp_path, FOUR, node("model.json", outputs={"y": "float"})) == [
        ("bad_model_file", "uri")
    ]


@pytest.mark.parametrize(
    ("inputs", "uri", "options", "type_"),
    [
        (FOUR, "iris.json", {}, "array<float>[3]"),
        (FOUR, "iris.ubj", {"model_class": "XGBClassifier"}, "int64"),
        (FOUR, "iris.json", {"model_class": "XGBClassifier", "method": "predict_proba"}, "array<float>[3]"),
        (FOUR, "softmax.json", {}, "float"),
        (THIRTY, "cancer.json", {}, "float"),
        (THIRTY, "cancer.json", {"model_class": "XGBClassifier"}, "int64"),
        (
            THIRTY,
            "cancer.json",
            {"model_class": "XGBClassifier", "method": "predict_proba"},
            "array<float>[2]",
        ),
        (TEN, "diabetes.ubj", {"model_class": "XGBRegressor"}, "float"),
        (TEN, "two.json", {}, "array<float>[2]"),
        (TEN, "lines.json", {}, "float"),
    ],
)
def test_the_header_gives_the_type_and_the_model_keeps_to_it(
    xgboost_models: Path, inputs: dict[str, str], uri: str, options: dict[str, Any], type_: str
) -> None:
    assert types_of(xgboost_models, inputs, node(uri, **options)) == {"y": type_}
    data = next(data for data in (iris(), diabetes(), cancer()) if f"[{data.x.shape[1]}]" in inputs["x"])
    answer = load_node(xgboost_models, inputs, node(uri, **options))({"x": data.x})["y"]
    loaded: Any = getattr(xgboost, options.get("model_class", "Booster"))()
    loaded.load_model(xgboost_models / uri)
    rows = xgboost.DMatrix(data.x) if isinstance(loaded, xgboost.Booster) else data.x
    np.testing.assert_array_equal(
        answer, getattr(loaded, options.get("method", "predict"))(rows), strict=True
    )


def test_missing_values_and_arguments_of_the_call_reach_the_model(xgboost_models: Path) -> None:
    x = diabetes().x.copy()
    x[::3, 2] = np.nan
    booster = xgboost.Booster(model_file=xgboost_models / "diabetes.json")
    plain = load_node(xgboost_models, TEN, node("diabetes.json"))({"x": x})["y"]
    np.testing.assert_array_equal(plain, booster.predict(xgboost.DMatrix(x)))
    shorter = node("diabetes.json", inference_args={"iteration_range": [0, 2]})
    answer = load_node(xgboost_models, TEN, shorter)({"x": x})["y"]
    np.testing.assert_array_equal(answer, booster.predict(xgboost.DMatrix(x), iteration_range=(0, 2)))
    leaves = node("diabetes.json", inference_args={"pred_leaf": True}, outputs={"y": "array<float>[5]"})
    answer = load_node(xgboost_models, TEN, leaves)({"x": x})["y"]
    np.testing.assert_array_equal(answer, booster.predict(xgboost.DMatrix(x), pred_leaf=True))


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_what_xgboosts_matrix_refuses_is_refused_in_place_too(xgboost_models: Path, value: float) -> None:
    x = diabetes().x.copy()
    x[3, 1] = value
    with pytest.raises(xgboost.core.XGBoostError):
        xgboost.DMatrix(x)
    with pytest.raises(NodeError, match="infinite or too large") as caught:
        load_node(xgboost_models, TEN, node("diabetes.json"))({"x": x})
    assert caught.value.code == "wrong_value"


@pytest.mark.parametrize(
    "element", ["int8", "int32", "int64", "uint8", "boolean", "float16", "float", "double"]
)
def test_every_kind_of_number_gives_what_xgboosts_matrix_gives(xgboost_models: Path, element: str) -> None:
    dtype = dtype_of(parse_type(element))
    x = np.random.default_rng(0).integers(0, 2 if element == "boolean" else 7, size=(50, 4)).astype(dtype)
    checked = check_node(xgboost_models, FOUR, node("iris.json"))
    inputs = {"x": parse_type(f"array<{element}>[4]")}
    member = KINDS[("model", "xgboost")].load(
        CheckedNode(checked.spec, checked.kind, inputs, checked.outputs, checked.uri)
    )
    booster = xgboost.Booster(model_file=xgboost_models / "iris.json")
    np.testing.assert_array_equal(member({"x": x})["y"], booster.predict(xgboost.DMatrix(x)), strict=True)


@pytest.mark.parametrize(
    ("inputs", "changed", "problem"),
    [
        (FOUR, node("cancer.json"), ("signature_mismatch", "inputs")),
        (FOUR, node("iris.json", outputs={"y": "array<float>[2]"}), ("signature_mismatch", "outputs.y")),
        (FOUR, node("iris.json", outputs={"y": "string"}), ("signature_mismatch", "outputs.y")),
        (FOUR, node("iris.json", outputs={"y": {"from": "proba"}}), ("unknown_port", "outputs.y")),
        (FOUR, node("iris.json", method="predict_proba"), ("bad_value", "method")),
        (FOUR, node("iris.json", model_class="Forest"), ("bad_value", "model_class")),
        (TEN, node("diabetes.json", model_class="XGBClassifier"), ("signature_mismatch", "model_class")),
        (TEN, node("quantiles.json"), ("missing_type", "outputs.y")),
        ({"x": "string"}, node("iris.json"), ("type_mismatch", "inputs")),
        (FOUR, node("iris.json", inputs={"dat": "x"}), ("type_mismatch", "inputs.dat")),
        (FOUR, node("iris.json", config={"model_state": "x"}), ("unsupported_option", "config.model_state")),
        (FOUR, node("irs.json"), ("missing_file", "uri")),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    xgboost_models: Path, inputs: dict[str, str], changed: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems_of(xgboost_models, inputs, changed)


def test_arguments_that_the_model_does_not_take(xgboost_models: Path) -> None:
    with pytest.raises(InvalidEnsemble, match=r"nodes\.node\.inference_args: .*leafs"):
        load_node(
            xgboost_models, FOUR, node("iris.json", inference_args={"leafs": True}, outputs={"y": "float"})
        )


def test_the_worker_compares_the_number_of_features_once_more(xgboost_models: Path) -> None:
    checked = check_node(xgboost_models, FOUR, node("iris.json"))
    other = CheckedNode(
        checked.spec, checked.kind, checked.inputs, checked.outputs, str(xgboost_models / "cancer.json")
    )
    with pytest.raises(InvalidEnsemble, match="the model takes 30 features, the columns of the node hold 4"):
        KINDS[("model", "xgboost")].load(other)
