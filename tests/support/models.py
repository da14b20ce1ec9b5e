"""Small models of every framework, made once a test session; each framework is imported where it is needed."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Data:
    """Features and what is to be said of them."""

    x: Array
    y: Array


def iris() -> Data:
    """Three classes of four features."""
    return Data(*load_iris(return_X_y=True))


def cancer() -> Data:
    """Two classes of thirty features."""
    return Data(*load_breast_cancer(return_X_y=True))


def diabetes() -> Data:
    """A number of ten features."""
    return Data(*load_diabetes(return_X_y=True))


def make_sklearn(folder: Path) -> None:
    """Writes scikit-learn models of iris and diabetes."""
    flowers, patients = iris(), diabetes()
    names = np.array(["setosa", "versicolor", "virginica"])[flowers.y]
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    joblib.dump(scaled.fit(flowers.x, flowers.y), folder / "logistic.joblib")
    joblib.dump(RandomForestClassifier(10, random_state=0).fit(flowers.x, names), folder / "forest.joblib")
    joblib.dump(StandardScaler().fit(flowers.x), folder / "scaler.joblib")
    (folder / "linear.pkl").write_bytes(pickle.dumps(LinearRegression().fit(patients.x, patients.y)))


def make_xgboost(folder: Path) -> None:
    """Writes XGBoost models, each as JSON and as UBJSON."""
    import xgboost

    flowers, patients, tumours = iris(), diabetes(), cancer()
    small: dict[str, Any] = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}
    models: dict[str, Any] = {
        "iris": xgboost.XGBClassifier(**small).fit(flowers.x, flowers.y),
        "cancer": xgboost.XGBClassifier(**small).fit(tumours.x, tumours.y),
        "diabetes": xgboost.XGBRegressor(**small).fit(patients.x, patients.y),
        "two": xgboost.XGBRegressor(**small).fit(patients.x, np.c_[patients.y, patients.y / 2]),
        "softmax": _booster(flowers, objective="multi:softmax", num_class=3),
        "lines": _booster(patients, booster="gblinear"),
        "quantiles": _booster(patients, objective="reg:quantileerror", quantile_alpha=[0.1, 0.9]),
    }
    for name, model in models.items():
        model.save_model(folder / f"{name}.json")
        model.save_model(folder / f"{name}.ubj")


def _booster(data: Data, **params: Any) -> Any:
    import xgboost

    return xgboost.train({"nthread": 1, **params}, xgboost.DMatrix(data.x, data.y), 5)


def write_graph(
    path: Path,
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    weights: Sequence[Any] = (),
) -> Path:
    """Writes an ONNX graph.

    Args:
        path: Where.
        nodes: Operator, names of what it reads, names of what it gives, attributes.
        inputs: Name, element type (``FLOAT``), shape; a text in a shape is a length that is not fixed.
        outputs: The same.
        weights: Tensors made by ``onnx.numpy_helper``.
    """
    import onnx
    from onnx import helper

    graph = helper.make_graph(
        [helper.make_node(op, reads, gives, **attributes) for op, reads, gives, attributes in nodes],
        "test",
        [_value(*one) for one in inputs],
        [_value(*one) for one in outputs],
        list(weights),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def _value(name: str, element: str, shape: Sequence[int | str | None] | None) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.DataType.Value(element), shape)
