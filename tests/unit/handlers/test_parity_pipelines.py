"""Pipelines of a one-node ensemble against Beam's bare RunInference: equal values, and the metrics of both."""

from __future__ import annotations

import functools
import hashlib
import importlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas
import pytest
import xgboost
import yaml
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from beam_ensembles.beam_repairs import inference_imports
from tests.support.models import cancer, diabetes, iris, write_graph
from tests.support.parity import assert_parity

EXAMPLES = Path(__file__).parents[3] / "examples" / "own_handler"
ROWS = 12


def answer(inference: Any) -> Mapping[str, Any]:
    """Takes the inference of one example as it is."""
    return {"y": inference}


def only(inference: Any) -> Mapping[str, Any]:
    """Takes the only item of the answer for a matrix of one row."""
    return {"y": inference[0]}


def rows_of(x: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    return [{"x": row.tolist()} for row in x]


def node(model: str, uri: str, type_: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "uri": uri, "inputs": ["x"], "outputs": {"y": type_}} | more


@pytest.mark.parametrize(
    ("uri", "x", "type_"),
    [
        ("logistic.joblib", iris().x, "int64"),
        ("forest.joblib", iris().x, "string"),
        ("linear.pkl", diabetes().x, "double"),
    ],
)
def test_sklearns_numpy_handler(sklearn_models: Path, uri: str, x: np.ndarray[Any, Any], type_: str) -> None:
    module = inference_imports.import_handlers("sklearn_inference")
    kind = module.ModelFileType.JOBLIB if uri.endswith("joblib") else module.ModelFileType.PICKLE
    x = x[:ROWS]  # the last digit of a line depends on how many rows there are: BLAS
    handler = module.SklearnModelHandlerNumpy(
        str(sklearn_models / uri), kind, min_batch_size=ROWS, max_batch_size=ROWS
    )
    inputs = {"x": f"array<double>[{x.shape[1]}]"}
    assert_parity(
        sklearn_models, inputs, node("sklearn", uri, type_), rows_of(x), handler, list(x), values=answer
    )


def called(method: str, model: Any, batch: Sequence[Any], _: Any = None) -> Any:
    """Does what Beam's own function does, with another method than predict."""
    return getattr(model, method)(np.vstack(batch))


@pytest.mark.parametrize(
    ("uri", "method", "element", "type_"),
    [
        ("logistic.joblib", "predict_proba", "double", "array<double>[3]"),
        ("logistic.joblib", "decision_function", "double", "array<double>[3]"),
        ("forest.joblib", "predict_proba", "float", "array<double>[3]"),
        ("scaler.joblib", "transform", "double", "array<double>[4]"),
        ("scaler.joblib", "transform", "float", "array<float>[4]"),
    ],
)
def test_other_methods_of_sklearn(
    sklearn_models: Path, uri: str, method: str, element: str, type_: str
) -> None:
    module = inference_imports.import_handlers("sklearn_inference")
    handler = module.SklearnModelHandlerNumpy(
        str(sklearn_models / uri),
        module.ModelFileType.JOBLIB,
        inference_fn=functools.partial(called, method),
        min_batch_size=ROWS,
        max_batch_size=ROWS,
    )
    x = iris().x[:ROWS].astype({"double": np.float64, "float": np.float32}[element])
    described = node("sklearn", uri, type_, method=method)
    inputs = {"x": f"array<{element}>[4]"}
    rows = rows_of(x) if element == "double" else [{"x": list(row)} for row in x]
    assert_parity(sklearn_models, inputs, described, rows, handler, list(x), values=answer)


@pytest.fixture
def goods(tmp_path: Path) -> pandas.DataFrame:
    """Rows of a category and two numbers, and models fitted on them in the test's folder."""
    rng = np.random.default_rng(5)
    frame = pandas.DataFrame(
        {
            "color": rng.choice(["red", "blue"], 40),
            "size": rng.normal(size=40),
            "count": rng.integers(0, 9, 40),
        }
    )
    y = frame["color"].eq("red").to_numpy() * 2.0 + frame["size"].to_numpy()
    features = ColumnTransformer(
        [("color", OneHotEncoder(), ["color"]), ("rest", StandardScaler(), ["size", "count"])]
    )
    joblib.dump(make_pipeline(features, Ridge()).fit(frame, y), tmp_path / "goods.joblib")
    model = xgboost.XGBRegressor(n_estimators=4, n_jobs=1, enable_categorical=True)
    model.fit(frame.astype({"color": "category"}), y).save_model(tmp_path / "goods.json")
    return frame[:ROWS]


GOODS = {"size": "double", "count": "int64", "color": "string"}


def goods_rows(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    return [
        {"size": float(row["size"]), "count": int(row["count"]), "color": str(row["color"])}
        for _, row in frame.iterrows()
    ]


def test_sklearns_pandas_handler(tmp_path: Path, goods: pandas.DataFrame) -> None:
    module = inference_imports.import_handlers("sklearn_inference")
    path = str(tmp_path / "goods.joblib")
    handler = module.SklearnModelHandlerPandas(path, module.ModelFileType.JOBLIB)
    described = node("sklearn", "goods.joblib", "double", inputs=list(GOODS))
    examples = [goods.iloc[[at]] for at in range(len(goods))]
    assert_parity(tmp_path, GOODS, described, goods_rows(goods), handler, examples, values=answer)


def test_xgboosts_pandas_handler(tmp_path: Path, goods: pandas.DataFrame) -> None:
    module = inference_imports.import_handlers("xgboost_inference")
    handler = module.XGBoostModelHandlerPandas(xgboost.XGBRegressor, str(tmp_path / "goods.json"))
    described = node("xgboost", "goods.json", "float", inputs=list(GOODS), model_class="XGBRegressor")
    frame = goods.astype({"color": "category"})
    examples = [frame.iloc[[at]] for at in range(len(frame))]
    assert_parity(tmp_path, GOODS, described, goods_rows(goods), handler, examples, values=only)


def in_matrix(batch: Sequence[Any], model: Any, inference_args: Any = None) -> list[Any]:
    """Does what Beam's own function does with a booster, but keeps the example: Beam's gives XGBoost's matrix for it,
    which cannot be pickled, so that no pipeline gets beyond it (2.77)."""
    result = inference_imports.import_base().PredictionResult
    return [result(rows, model.predict(xgboost.DMatrix(rows), **(inference_args or {}))) for rows in batch]


@pytest.mark.parametrize(
    ("uri", "model_class", "x", "type_"),
    [
        ("iris.json", "Booster", iris().x, "array<float>[3]"),
        ("iris.ubj", "XGBClassifier", iris().x, "int64"),
        ("cancer.json", "Booster", cancer().x, "float"),
        ("two.ubj", "XGBRegressor", diabetes().x, "array<float>[2]"),
    ],
)
def test_xgboosts_numpy_handler(
    xgboost_models: Path, uri: str, model_class: str, x: np.ndarray[Any, Any], type_: str
) -> None:
    module = inference_imports.import_handlers("xgboost_inference")
    predict = in_matrix if model_class == "Booster" else module.default_xgboost_inference_fn
    path = str(xgboost_models / uri)
    handler = module.XGBoostModelHandlerNumpy(getattr(xgboost, model_class), path, predict)
    x = x[:: len(x) // ROWS]
    examples = [x[at : at + 1] for at in range(len(x))]
    inputs = {"x": f"array<double>[{x.shape[1]}]"}
    described = node("xgboost", uri, type_, model_class=model_class)
    assert_parity(xgboost_models, inputs, described, rows_of(x), handler, examples, values=only)


def labels(folder: Path) -> None:
    """Writes a classifier that gives its labels first."""
    names = np.array(["a", "b", "c"])[iris().y]
    model = LogisticRegression(max_iter=500).fit(iris().x, names)
    onx = to_onnx(model, iris().x[:1].astype(np.float32), target_opset=17)
    (folder / "model.onnx").write_bytes(onx.SerializeToString())


def echo(element: str) -> Callable[[Path], None]:
    """Writes a graph that gives what it is given."""

    def write(folder: Path) -> None:
        ports: list[Sequence[Any]] = [("X", element, ["N", 4]), ("Y", element, ["N", 4])]
        write_graph(folder / "model.onnx", [("Identity", ["X"], ["Y"], {})], ports[:1], ports[1:])

    return write


@pytest.mark.parametrize(
    ("write", "outputs", "dtype", "declared"),
    [
        (labels, {"y": {"from": "output_label"}}, np.float32, "double"),
        (echo("FLOAT"), {"y": {"from": "Y"}}, np.float32, "double"),
        (echo("DOUBLE"), {"y": {"from": "Y"}}, np.float64, "double"),
        (echo("FLOAT16"), {"y": {"from": "Y", "type": "array<float>[4]"}}, np.float16, "double"),
        (echo("UINT8"), {"y": {"from": "Y", "type": "array<int32>[4]"}}, np.uint8, "int64"),
        (echo("INT64"), {"y": {"from": "Y"}}, np.int64, "int64"),
        (echo("BOOL"), {"y": {"from": "Y"}}, np.bool_, "boolean"),
    ],
)
def test_onnxs_handler(
    tmp_path: Path, write: Callable[[Path], None], outputs: dict[str, Any], dtype: Any, declared: str
) -> None:
    write(tmp_path)
    module = inference_imports.import_handlers("onnx_inference")
    handler = module.OnnxModelHandlerNumpy(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    x = iris().x[::12].astype(dtype)
    rows = rows_of(x if np.dtype(dtype).kind in "ui" or dtype is np.bool_ else x.astype(np.float64))
    described = {"model": "onnx", "uri": "model.onnx", "inputs": ["x"], "outputs": outputs}
    assert_parity(tmp_path, {"x": f"array<{declared}>[4]"}, described, rows, handler, list(x), values=answer)


def test_a_handler_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the documentation, its file and all."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    neighbours = importlib.import_module("neighbours")
    files = ["--models", tmp_path / "models", "--rows", tmp_path / "rows.jsonl"]
    subprocess.run([sys.executable, EXAMPLES / "train.py", *files], check=True)
    known = tmp_path / "models" / "known.npz"
    spec = yaml.safe_load((EXAMPLES / "neighbours.yaml").read_text())
    described = spec["nodes"]["nearest"] | {"uri": str(known)}
    handler = neighbours.NearestNeighbours(**described["config"])
    handler.update_model_path(described["uri"])
    with np.load(known) as arrays:
        pixels = arrays["pixels"][:ROWS]
    described["sha256"] = hashlib.sha256(known.read_bytes()).hexdigest()
    rows = [{"pixels": image.tolist()} for image in pixels]
    examples = [
        neighbours.brightened(image) for image in pixels
    ]  # Beam's keyed handlers take no such functions
    assert_parity(tmp_path, spec["inputs"], described, rows, handler, examples, values=lambda one: one)
