"""Trains the three members of the digits ensemble and writes the held-out images.

scikit-learn's handwritten digits, 1,797 real images of 8 x 8 pixels, are split once and for all; every run
gives the same models.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import xgboost
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HERE = Path(__file__).resolve().parent
SEED = 20
BRIGHTEST = 16.0

Array = np.ndarray[Any, Any]


def forest(pixels: Array, digits: Array, path: Path) -> RandomForestClassifier:
    """Trains a random forest and saves it with joblib."""
    model = RandomForestClassifier(n_estimators=60, min_samples_leaf=3, random_state=SEED).fit(pixels, digits)
    joblib.dump(model, path)
    return model


def boost(pixels: Array, digits: Array, path: Path) -> xgboost.Booster:
    """Trains gradient boosting and saves it in XGBoost's JSON format."""
    params = {
        "objective": "multi:softprob",
        "num_class": 10,
        "max_depth": 3,
        "eta": 0.3,
        "seed": SEED,
        "nthread": 2,
    }
    model = xgboost.train(params, xgboost.DMatrix(pixels, digits), num_boost_round=30)
    model.save_model(path)
    return model


def network(pixels: Array, digits: Array, path: Path) -> MLPClassifier:
    """Trains a small neural network and saves it as an ONNX graph."""
    model = MLPClassifier(
        (32,), alpha=0.1, learning_rate_init=0.005, tol=1e-3, max_iter=500, random_state=SEED
    )
    model.fit(pixels / BRIGHTEST, digits)
    onnx.save(onnx_graph(model.coefs_, model.intercepts_), path)
    return model


def onnx_graph(weights: list[Array], biases: list[Array]) -> onnx.ModelProto:
    """Writes a network of one hidden layer as a graph from ``X`` [N, 64] to ``probabilities`` [N, 10]."""
    constants = {
        "scale": np.float32(1 / BRIGHTEST),
        "w1": weights[0],
        "b1": biases[0],
        "w2": weights[1],
        "b2": biases[1],
    }
    nodes = [
        helper.make_node("Mul", ["X", "scale"], ["scaled"]),
        helper.make_node("Gemm", ["scaled", "w1", "b1"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "w2", "b2"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", weights[0].shape[0]])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", weights[1].shape[1]])],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def write_heldout(path: Path, ids: Array, pixels: Array, digits: Array) -> None:
    """Writes the held-out images (``id``, ``pixels``, ``target``) as JSON lines and, for Beam YAML, as Parquet."""
    rows = [
        {"id": id_, "pixels": image, "target": str(digit)}
        for id_, image, digit in zip(ids.tolist(), pixels.tolist(), digits.tolist(), strict=True)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))


def main(argv: list[str] | None = None) -> int:
    """Trains, saves, and says how often each member is right about the held-out images."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of the models (%(default)s)"
    )
    parser.add_argument(
        "--rows",
        type=Path,
        default=HERE.parents[1] / "build" / "demo" / "heldout.jsonl",
        help="file of the held-out images (%(default)s)",
    )
    flags = parser.parse_args(argv)

    images = load_digits()
    ids = np.arange(len(images.target))
    train, test = train_test_split(ids, test_size=0.3, random_state=SEED, stratify=images.target)
    test.sort()
    pixels, digits = images.data[train], images.target[train]
    flags.models.mkdir(parents=True, exist_ok=True)
    answers = {
        "forest": forest(pixels, digits, flags.models / "forest.joblib").predict(images.data[test]),
        "boost": boost(pixels, digits, flags.models / "boost.json")
        .predict(xgboost.DMatrix(images.data[test]))
        .argmax(1),
        "network": network(pixels, digits, flags.models / "network.onnx").predict(
            images.data[test] / BRIGHTEST
        ),
    }
    write_heldout(flags.rows, test, images.data[test], images.target[test])
    for name, answer in answers.items():
        sys.stdout.write(f"{name:8} {np.mean(answer == images.target[test]):.4f}\n")
    sys.stdout.write(f"{len(test)} held-out images in {flags.rows}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
