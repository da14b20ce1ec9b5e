"""Makes the small models that the golden files name. Run once; the models are committed.

python tests/golden/make_models.py
"""

from __future__ import annotations

import pathlib
import shutil

import joblib
import numpy as np
import onnx
import safetensors.numpy
import xgboost
from onnx import TensorProto, helper, numpy_helper
from sklearn.dummy import DummyClassifier

GOLDEN = pathlib.Path(__file__).parent
MODELS = GOLDEN / "specs_invalid" / "models"
FEATURES, CLASSES = 4, 3


def network() -> onnx.ModelProto:
    """``X`` float [N, 4] to ``probabilities`` float [N, 3] and ``label`` int64 [N]."""
    weights = numpy_helper.from_array(np.eye(FEATURES, CLASSES, dtype=np.float32), "weights")
    nodes = [
        helper.make_node("MatMul", ["X", "weights"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"]),
        helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
    ]
    return _model(
        nodes,
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", FEATURES])],
        [
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", CLASSES]),
            helper.make_tensor_value_info("label", TensorProto.INT64, ["N"]),
        ],
        [weights],
    )


def addition() -> onnx.ModelProto:
    """``a`` and ``b``, each double [N, 2], to ``sum``."""
    values = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["N", 2]) for name in ("a", "b", "sum")]
    return _model([helper.make_node("Add", ["a", "b"], ["sum"])], values[:2], values[2:], [])


def one_row() -> onnx.ModelProto:
    """``X`` float [1, 4]: exported for one row at a time."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, FEATURES]) for name in ("X", "Y")]
    return _model([helper.make_node("Identity", ["X"], ["Y"])], values[:1], values[1:], [])


def _model(nodes: list, inputs: list, outputs: list, constants: list) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "golden", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def main() -> None:
    """Writes all of them."""
    for name, model in {"network": network(), "addition": addition(), "one_row": one_row()}.items():
        onnx.save(model, MODELS / f"{name}.onnx")
    rows, labels = np.eye(FEATURES), np.arange(FEATURES) % CLASSES
    booster = xgboost.XGBClassifier(n_estimators=1, max_depth=1).fit(rows, labels)
    booster.save_model(MODELS / "boost.json")
    joblib.dump(DummyClassifier(strategy="prior").fit(rows, labels), MODELS / "forest.joblib")
    shutil.copy(MODELS / "forest.joblib", GOLDEN / "untrusted" / "forest.joblib")
    line = {"weight": np.ones((1, FEATURES), np.float32), "bias": np.zeros(1, np.float32)}
    safetensors.numpy.save_file(line, MODELS / "line.safetensors")
    (MODELS / "notes.txt").write_text("No model at all.\n", encoding="utf-8")


if __name__ == "__main__":
    main()
