"""Four numbers per row, a logistic regression and a forest: what is around the models shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import joblib
import numpy as np

from scripts.made import Made
from tests.benchmarks.workload import MANY, Array, Columns, Score, Workload


class Light(Workload):
    """The light ensemble: the mean of both models."""

    name = "light"
    fields: ClassVar = dict.fromkeys("abcd", float)
    outputs: ClassVar = {"proba": "array<double>"}
    answer = ("proba", 1)
    different = MANY
    one_node_member = "linear"

    def prepare(self) -> Array:
        """Trains both models if needed; the values are made up, the same on every run."""
        sources = [self.folder / "workload.py"]
        Made(self.models / ".made", (self.models / "forest.joblib",), lambda: sources).make(self._train)
        return np.random.default_rng(7).normal(size=(MANY, len(self.fields)))

    def _train(self) -> None:
        from sklearn.datasets import make_classification
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression

        features, classes = make_classification(
            2_000, n_features=4, n_informative=3, n_redundant=1, random_state=20
        )
        self.models.mkdir(parents=True, exist_ok=True)
        forest = RandomForestClassifier(n_estimators=50, max_depth=8, random_state=20)
        for name, model in (("linear", LogisticRegression()), ("forest", forest)):
            joblib.dump(model.fit(features, classes), self.models / f"{name}.joblib")

    def load(self) -> Score:
        linear, forest = (joblib.load(self.models / f"{name}.joblib") for name in ("linear", "forest"))

        def score(columns: Columns) -> dict[str, Array]:
            batch = np.column_stack([columns[name] for name in "abcd"])
            return {"proba": (linear.predict_proba(batch) + forest.predict_proba(batch)) / 2}

        return score

    def features(self, row: Any) -> Array:
        return np.array((row.a, row.b, row.c, row.d))

    def handlers(self) -> Mapping[str, Any]:
        from tests.benchmarks import members

        return {name: members.sklearn(str(self.models / f"{name}.joblib")) for name in ("linear", "forest")}

    def joined(self, found: Mapping[str, Any]) -> dict[str, Any]:
        return {"proba": ((found["linear"].inference + found["forest"].inference) / 2).tolist()}


WORKLOAD = Light()
