"""One ensemble with a node of every framework, and what each framework itself says of the same rows.

``python -m tests.support.every_framework FOLDER`` writes ``every.json``, its models and ``rows.json`` (a list of
``{row, expected}``) into a folder, and the files of ``whole_language`` beside them; it prints ``serving FOLDER``, and
serves the model of the ``open_inference`` node until standard input ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np
import onnxruntime
import safetensors.torch
import torch
import transformers
import xgboost
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from beam_ensembles.handlers import beam_compat
from tests.support import whole_language
from tests.support.largest_feature import FEATURES
from tests.support.models import Array, iris
from tests.support.open_inference import Model, served
from tests.support.transformers_models import MAKERS

_ROWS: Final = range(0, 150, 6)
_TEXTS: Final = ("a good flower", "a bad flower", "the flower is not good", "good")
_NAMES: Final = np.array(["setosa", "versicolor", "virginica"])
Answers = Mapping[str, Any]


def _sklearn(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    flowers = iris()
    forest = RandomForestClassifier(10, random_state=0).fit(flowers.x, _NAMES[flowers.y])
    linear = LogisticRegression(max_iter=500).fit(flowers.x, flowers.y)
    joblib.dump(forest, folder / "forest.joblib")
    joblib.dump(linear, folder / "linear.joblib")
    sklearn = {"model": "sklearn", "inputs": ["x"]}
    nodes = {
        "forest": sklearn | {"uri": "forest.joblib", "outputs": {"sklearn_label": "string"}},
        "linear": sklearn
        | {
            "uri": "linear.joblib",
            "method": "predict_proba",
            "outputs": {"sklearn_proba": "array<double>[3]"},
        },
    }
    return nodes, {"sklearn_label": forest.predict(x), "sklearn_proba": linear.predict_proba(x)}


def _xgboost(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    flowers = iris()
    booster = xgboost.train(
        {"objective": "multi:softprob", "num_class": 3}, xgboost.DMatrix(flowers.x, flowers.y), 5
    )
    booster.save_model(folder / "boost.json")
    node = {"model": "xgboost", "uri": "boost.json", "inputs": ["x"], "outputs": {"xgboost_proba": None}}
    return {"boost": node}, {"xgboost_proba": booster.predict(xgboost.DMatrix(x))}


def _onnx(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    flowers = iris()
    model = LogisticRegression(max_iter=500).fit(flowers.x, flowers.y)
    options = {id(model): {"zipmap": False}}
    graph = to_onnx(model, flowers.x[:1].astype(np.float32), options=options).SerializeToString()
    (folder / "linear.onnx").write_bytes(graph)
    outputs = {"onnx_label": {"from": "label"}, "onnx_proba": {"from": "probabilities"}}
    node = {"model": "onnx", "uri": "linear.onnx", "inputs": {"X": "x"}, "outputs": outputs}
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    label, proba = session.run(None, {"X": x.astype(np.float32)})
    return {"graph": node}, {"onnx_label": label, "onnx_proba": proba}


def _pytorch(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    torch.manual_seed(7)
    linear = torch.nn.Linear(4, 3)
    safetensors.torch.save_file(linear.state_dict(), folder / "linear.safetensors")
    node = {
        "model": "pytorch",
        "uri": "linear.safetensors",
        "model_class": "torch.nn.Linear",
        "model_params": {"in_features": 4, "out_features": 3},
        "inputs": ["x"],
        "outputs": {"pytorch_logits": "array<float>[3]"},
    }
    with torch.inference_mode():
        return {"linear_layer": node}, {
            "pytorch_logits": linear(torch.tensor(x, dtype=torch.float32)).numpy()
        }


def _tensorflow(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    beam_compat.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch: see there
    import keras

    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    model.save(folder / "dense.keras")
    outputs = {"tensorflow_proba": "array<float>[3]"}
    node = {"model": "tensorflow", "uri": "dense.keras", "inputs": ["x"], "outputs": outputs}
    return {"dense": node}, {"tensorflow_proba": model.predict(x.astype(np.float32), verbose=0)}


def _huggingface(folder: Path, texts: list[str]) -> tuple[dict[str, Any], Answers]:
    MAKERS["classifier"](folder / "mood")
    node = {
        "model": "huggingface",
        "uri": "mood",
        "task": "text-classification",
        "inputs": ["text"],
        "outputs": {"mood": {"from": "label"}, "mood_score": {"from": "score"}},
    }
    said = transformers.pipeline("text-classification", str(folder / "mood"), device="cpu")(texts)
    return {"mood_model": node}, {
        "mood": [one["label"] for one in said],
        "mood_score": [one["score"] for one in said],
    }


def _python(_: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    node = {
        "model": "python",
        "handler": "tests.support.largest_feature.LargestFeature",
        "inputs": ["x"],
        "outputs": {"python_label": "string"},
    }
    return {"largest": node}, {"python_label": [FEATURES[at] for at in x.argmax(axis=1)]}


def _remote(port: int, x: Array) -> tuple[dict[str, Any], Answers]:
    node = {
        "model": "open_inference",
        "uri": f"grpc://localhost:{port}/shares",
        "inputs": {"x": "x"},
        "outputs": {"remote_proba": {"from": "share"}},
    }
    return {"shares": node}, {"remote_proba": _shares({"x": x})["share"]}


def _shares(tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The remote model: the share of each of the first three features in their sum."""
    first = tensors["x"][:, :3]
    return {"share": first / first.sum(axis=1, keepdims=True)}


def write(folder: Path, port: int) -> None:
    """Writes the ensemble, its models and the rows.

    Args:
        folder: Where to.
        port: Where the model of the ``open_inference`` node is served.
    """
    x = iris().x[list(_ROWS)]
    texts = [_TEXTS[at % len(_TEXTS)] for at in range(len(x))]
    parts = [one(folder, x) for one in (_sklearn, _xgboost, _onnx, _pytorch, _tensorflow, _python)]
    parts += [_huggingface(folder, texts), _remote(port, x)]
    nodes = {name: node for part, _ in parts for name, node in part.items()}
    answers = {name: np.asarray(values).tolist() for _, part in parts for name, values in part.items()}
    spec = {"ensemble": "every", "inputs": {"x": "array<double>[4]", "text": "string"}, "nodes": nodes}
    (folder / "every.json").write_text(json.dumps(spec, indent=2), encoding="utf-8")
    rows = [
        {"row": {"id": at, "x": x[at].tolist(), "text": texts[at]},
         "expected": {name: values[at] for name, values in answers.items()}}
        for at in range(len(x))
    ]  # fmt: skip
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")


def main(folder: Path) -> None:
    """Writes all that, and serves until standard input ends."""
    model = Model(_shares, inputs=[("x", "FP64", [-1, 4])], outputs=[("share", "FP64", [-1, 3])])
    with served({"shares": model}) as server:
        write(folder, server.port)
        whole_language.write(folder)
        print(f"serving {folder}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
