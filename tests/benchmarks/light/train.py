"""Trains the two members of the light ensemble, the same ones on every run."""

from __future__ import annotations

from pathlib import Path

import joblib
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

SEED = 20
ROWS = 2_000


def train(folder: Path) -> None:
    """Trains both models on four made-up features and saves them with joblib."""
    features, classes = make_classification(
        ROWS, n_features=4, n_informative=3, n_redundant=1, random_state=SEED
    )
    folder.mkdir(parents=True, exist_ok=True)
    joblib.dump(LogisticRegression().fit(features, classes), folder / "linear.joblib")
    forest = RandomForestClassifier(n_estimators=50, max_depth=8, random_state=SEED)
    joblib.dump(forest.fit(features, classes), folder / "forest.joblib")
