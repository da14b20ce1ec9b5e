"""Four numbers a row, a logistic regression and a forest: what is around the models shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apache_beam as beam
import numpy as np

from scripts.made import Made
from tests.benchmarks import members
from tests.benchmarks.bare import Array
from tests.benchmarks.light import train
from tests.benchmarks.workload import MANY, WithOneNode

HERE: Final = Path(__file__).resolve().parent
MODELS: Final = HERE / "models"
SEED: Final = 7

_TRAINED: Final = Made(MODELS / ".made", (MODELS / "forest.joblib",), lambda: [HERE / "train.py"])


class Light:
    """The light ensemble."""

    name = "light"
    ensemble = HERE / "light.yaml"
    models = MODELS
    one_node = HERE / "one_node.yaml"
    one_node_member = "linear"
    fields: Sequence[tuple[str, Any]] = tuple((name, float) for name in "abcd")

    def prepare(self) -> Array:
        """Trains where needed; the values are made up, the same on every run."""
        _TRAINED.make(lambda: train.train(MODELS))
        return np.random.default_rng(SEED).normal(size=(MANY, len(self.fields)))

    def as_fields(self, values: list[float]) -> dict[str, Any]:
        """Gives one field a number."""
        a, b, c, d = values
        return {"a": a, "b": b, "c": c, "d": d}

    def features(self, row: Any) -> Array:
        """Gives the four numbers."""
        return np.array((row.a, row.b, row.c, row.d))

    def keyed(self, row: Any) -> tuple[int, Array]:
        """Gives the id and the four numbers."""
        return row.id, np.array((row.a, row.b, row.c, row.d))

    def handlers(self) -> Mapping[str, Any]:
        """Gives the handlers of both models."""
        return {name: members.sklearn(str(MODELS / f"{name}.joblib")) for name in ("linear", "forest")}

    def joined(self, grouped: tuple[int, Mapping[str, Sequence[Any]]]) -> Any:
        """Averages the probabilities."""
        id_, found = grouped
        (linear,), (forest,) = found["linear"], found["forest"]
        return beam.Row(id=id_, proba=((linear.inference + forest.inference) / 2).tolist())

    def answered(self, prediction: Any) -> Any:
        """Puts the probabilities to the four numbers."""
        a, b, c, d = prediction.example.tolist()
        return beam.Row(a=a, b=b, c=c, d=d, proba=prediction.inference.tolist())

    def answer(self, row: Any) -> float:
        """Gives the probability of the second class."""
        return float(row.proba[1])


WORKLOAD: Final[WithOneNode] = Light()
