"""A node gives exactly what Beam's own handler gives for the same rows: equal values, not close ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.beam_repairs import inference_imports
from tests.support.models import cancer, diabetes, iris
from tests.support.nodes import load_node

Values = np.ndarray[Any, np.dtype[Any]]


def beams_sklearn(path: str, x: Values, _: str | None) -> Values:
    module = inference_imports.import_handlers("sklearn_inference")
    format_ = module.ModelFileType.JOBLIB if path.endswith("joblib") else module.ModelFileType.PICKLE
    handler = module.SklearnModelHandlerNumpy(path, format_)
    return np.stack([result.inference for result in handler.run_inference(list(x), handler.load_model())])


def beams_onnx(path: str, x: Values, _: str | None) -> Values:
    module = inference_imports.import_handlers("onnx_inference")
    handler = module.OnnxModelHandlerNumpy(path, providers=["CPUExecutionProvider"])
    return np.stack([result.inference for result in handler.run_inference(list(x), handler.load_model())])


def beams_xgboost(path: str, x: Values, model_class: str | None) -> Values:
    module = inference_imports.import_handlers("xgboost_inference")
    handler = module.XGBoostModelHandlerNumpy(getattr(module.xgboost, model_class or "Booster"), path)
    rows = [x[at : at + 1] for at in range(len(x))]
    return np.concatenate([result.inference for result in handler.run_inference(rows, handler.load_model())])


CASES = [
    ("sklearn", beams_sklearn, "logistic.joblib", "int64", iris().x, None),
    ("sklearn", beams_sklearn, "forest.joblib", "string", iris().x, None),
    ("sklearn", beams_sklearn, "forest.joblib", "string", iris().x.astype(np.float32), None),
    ("sklearn", beams_sklearn, "linear.pkl", "double", diabetes().x, None),
    ("onnx", beams_onnx, "double.onnx", "array<float>[2]", iris().x[:, :2].astype(np.float32), None),
    ("onnx", beams_onnx, "counts.onnx", "array<int64>[2]", np.arange(20).reshape(10, 2), None),
    ("xgboost", beams_xgboost, "iris.json", "array<float>[3]", iris().x, None),
    ("xgboost", beams_xgboost, "iris.ubj", "array<float>[3]", iris().x.astype(np.float32), None),
    ("xgboost", beams_xgboost, "iris.json", "int64", iris().x, "XGBClassifier"),
    ("xgboost", beams_xgboost, "cancer.json", "float", cancer().x, None),
    ("xgboost", beams_xgboost, "diabetes.json", "float", diabetes().x, "XGBRegressor"),
    ("xgboost", beams_xgboost, "two.json", "array<float>[2]", diabetes().x, None),
    ("xgboost", beams_xgboost, "softmax.json", "float", iris().x, None),
    ("xgboost", beams_xgboost, "lines.json", "float", diabetes().x, None),
]


@pytest.mark.parametrize(("model", "beams", "uri", "type_", "x", "model_class"), CASES)
def test_a_node_gives_what_beams_handler_gives(
    request: pytest.FixtureRequest,
    model: str,
    beams: Callable[[str, Values, str | None], Values],
    uri: str,
    type_: str,
    x: Values,
    model_class: str | None,
) -> None:
    x = x[:25]
    folder: Path = request.getfixturevalue(f"{model}_models")
    element = {"f8": "double", "f4": "float", "i8": "int64"}[x.dtype.str[1:]]
    node = {"model": model, "uri": uri, "inputs": ["x"], "outputs": {"y": type_}}
    if model_class is not None:
        node["model_class"] = model_class
    answer = load_node(folder, {"x": f"array<{element}>[{x.shape[1]}]"}, node)({"x": x})["y"]
    wanted = beams(str(folder / uri), x, model_class)
    if type_ == "string":
        assert answer.tolist() == wanted.tolist()
    else:
        np.testing.assert_array_equal(answer, wanted, strict=True)
