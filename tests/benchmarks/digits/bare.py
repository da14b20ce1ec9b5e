"""The three models of the digits ensemble, their vote, and what each says alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np

from tests.benchmarks.bare import Array, Columns, Score

ROWS: Final = 1_024
OUTPUTS: Final[Mapping[str, str]] = {
    "label": "string",
    "confidence": "double",
    "forest_label": "string",
    "boost_label": "string",
    "network_label": "string",
}
ANSWER: Final = ("confidence", None)
WEIGHTS: Final = np.array((1, 1, 2)) / 4
LABELS: Final = np.array([str(digit) for digit in range(10)], object)


def load(models: Path) -> Score:
    """Loads the three models."""
    import onnxruntime
    import xgboost

    forest = joblib.load(models / "forest.joblib")
    boost = xgboost.Booster(model_file=models / "boost.json")
    network = onnxruntime.InferenceSession(
        models / "network.onnx", session_options(), providers=["CPUExecutionProvider"]
    )

    def score(columns: Columns) -> dict[str, Array]:
        batch = columns["pixels"]
        (answer,) = network.run(None, {"X": batch.astype(np.float32)})
        proba = np.stack((forest.predict_proba(batch), boost.inplace_predict(batch), answer))
        average = np.tensordot(WEIGHTS, proba, 1)
        alone = LABELS[proba.argmax(axis=2)]
        return {
            "label": LABELS[average.argmax(axis=1)],
            "confidence": average.max(axis=1),
            **dict(zip(("forest_label", "boost_label", "network_label"), alone, strict=True)),
        }

    return score


def session_options() -> Any:
    """Gives onnxruntime's options with which its threads leave the cores to the other members after a call."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    for threads in ("intra_op", "inter_op"):
        options.add_session_config_entry(f"session.{threads}.allow_spinning", "0")
    return options
