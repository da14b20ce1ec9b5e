"""The digits example: 64 numbers per row, three models of three frameworks, a weighted vote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import joblib
import numpy as np

from scripts.members import DIGITS, HELDOUT, MODELS, train
from tests.benchmarks.workload import BATCH, Array, Columns, Score, Workload

WEIGHTS: Final = np.array((1, 1, 2)) / 4
LABELS: Final = np.array([str(digit) for digit in range(10)], object)
_ALONE: Final = ("forest_label", "boost_label", "network_label")


class Digits(Workload):
    """The digits ensemble; its rows are the held-out images."""

    name = "digits"
    fields: ClassVar = {"pixels": Sequence[float]}
    outputs: ClassVar = {"label": "string", "confidence": "double", **dict.fromkeys(_ALONE, "string")}
    answer = ("confidence", None)
    one_node_member = "network"

    @property
    def ensemble(self) -> Path:
        return DIGITS.ensemble_file

    @property
    def models(self) -> Path:
        return MODELS

    def prepare(self) -> Array:
        train()
        with HELDOUT.open(encoding="utf-8") as lines:
            images = [json.loads(line)["pixels"] for line in lines]
        return np.resize(np.array(images, np.float64), (BATCH, 64))

    def load(self) -> Score:
        import onnxruntime
        import xgboost

        forest = joblib.load(MODELS / "forest.joblib")
        boost = xgboost.Booster(model_file=MODELS / "boost.json")
        network = onnxruntime.InferenceSession(
            MODELS / "network.onnx", session_options(), providers=["CPUExecutionProvider"]
        )

        def score(columns: Columns) -> dict[str, Array]:
            batch = columns["pixels"]
            (answer,) = network.run(None, {"X": batch.astype(np.float32)})
            return _vote(np.stack((forest.predict_proba(batch), boost.inplace_predict(batch), answer)))

        return score

    def features(self, row: Any) -> Array:
        """Returns the pixels as the network takes them; the other two take them too."""
        return np.array(row.pixels, np.float32)

    def handlers(self) -> Mapping[str, Any]:
        from tests.benchmarks import members

        return {
            "forest": members.sklearn(str(MODELS / "forest.joblib")),
            "boost": members.xgboost(str(MODELS / "boost.json")),
            "network": members.onnx(str(MODELS / "network.onnx")),
        }

    def joined(self, found: Mapping[str, Any]) -> dict[str, Any]:
        proba = np.stack([found[name].inference for name in ("forest", "boost", "network")])
        average = WEIGHTS @ proba
        best = average.argmax()
        alone = LABELS[proba.argmax(axis=1)].tolist()
        return {
            "label": str(LABELS[best]),
            "confidence": float(average[best]),
            **dict(zip(_ALONE, alone, strict=True)),
        }


def _vote(proba: Array) -> dict[str, Array]:
    """Combines probabilities, ``[models, N, classes]``, to the outputs."""
    average = np.tensordot(WEIGHTS, proba, 1)
    alone = LABELS[proba.argmax(axis=2)]
    return {
        "label": LABELS[average.argmax(axis=1)],
        "confidence": average.max(axis=1),
        **dict(zip(_ALONE, alone, strict=True)),
    }


def session_options() -> Any:
    """Returns onnxruntime's options with which its threads leave the cores to the other members after a call."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    for threads in ("intra_op", "inter_op"):
        options.add_session_config_entry(f"session.{threads}.allow_spinning", "0")
    return options


WORKLOAD = Digits()
