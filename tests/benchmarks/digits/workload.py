"""The digits example: 64 numbers a row, three models of three frameworks, a weighted vote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apache_beam as beam
import numpy as np

from scripts.members import DIGITS, HELDOUT, MODELS, train
from tests.benchmarks import members
from tests.benchmarks.bare import Array
from tests.benchmarks.digits.bare import LABELS, WEIGHTS
from tests.benchmarks.workload import BATCH, WithOneNode

PIXELS: Final = 64


class Digits:
    """The digits ensemble; its rows are the held-out images."""

    name = "digits"
    ensemble = DIGITS.ensemble_file
    models = MODELS
    one_node = Path(__file__).resolve().parent / "one_node.yaml"
    one_node_member = "network"
    fields: Sequence[tuple[str, Any]] = (("pixels", Sequence[float]),)

    def prepare(self) -> Array:
        """Trains where needed; reads the images."""
        train()
        with HELDOUT.open(encoding="utf-8") as lines:
            images = [json.loads(line)["pixels"] for line in lines]
        return np.resize(np.array(images, np.float64), (BATCH, PIXELS))

    def as_fields(self, values: list[float]) -> dict[str, Any]:
        """Gives the pixels."""
        return {"pixels": values}

    def features(self, row: Any) -> Array:
        """Gives the pixels as the network takes them; the other two take them too."""
        return np.array(row.pixels, np.float32)

    def keyed(self, row: Any) -> tuple[int, Array]:
        """Gives the id and the pixels."""
        return row.id, np.array(row.pixels, np.float32)

    def handlers(self) -> Mapping[str, Any]:
        """Gives the handlers of the three models."""
        return {
            "forest": members.sklearn(str(MODELS / "forest.joblib")),
            "boost": members.xgboost(str(MODELS / "boost.json")),
            "network": members.onnx(str(MODELS / "network.onnx")),
        }

    def joined(self, grouped: tuple[int, Mapping[str, Sequence[Any]]]) -> Any:
        """Votes, and names each member's own answer."""
        id_, found = grouped
        (forest,), (boost,), (network,) = found["forest"], found["boost"], found["network"]
        proba = np.stack((forest.inference, boost.inference, network.inference))
        average = WEIGHTS @ proba
        best = average.argmax()
        alone = LABELS[proba.argmax(axis=1)].tolist()
        return beam.Row(
            id=id_,
            label=str(LABELS[best]),
            confidence=float(average[best]),
            forest_label=alone[0],
            boost_label=alone[1],
            network_label=alone[2],
        )

    def answered(self, prediction: Any) -> Any:
        """Puts the probabilities to the pixels."""
        return beam.Row(pixels=prediction.example.tolist(), proba=prediction.inference.tolist())

    def answer(self, row: Any) -> float:
        """Gives the confidence of the vote, or the greatest probability of the only member."""
        return float(row.confidence if hasattr(row, "confidence") else max(row.proba))


WORKLOAD: Final[WithOneNode] = Digits()
