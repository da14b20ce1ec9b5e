"""Two small models trained on scikit-learn's iris flowers and the ensemble that lets them vote."""

from __future__ import annotations

from pathlib import Path

import joblib
import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

LABELS = ("setosa", "versicolor", "virginica")

TEXT = """
ensemble: iris
inputs: {a: double, b: double, c: double, d: double}
nodes:
  linear:
    {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [a, b, c, d],
     outputs: {linear_p: "array<double>[3]"}}
  forest:
    {model: sklearn, uri: forest.joblib, method: predict_proba, inputs: [a, b, c, d],
     outputs: {forest_p: "array<double>[3]"}}
  vote:
    {combine: soft_vote, inputs: [linear_p, forest_p], labels: [setosa, versicolor, virginica],
     outputs: {label: string, confidence: double}}
outputs: [label, confidence]
"""


def flowers() -> np.ndarray:
    """Returns the 150 flowers, four doubles each."""
    return np.asarray(load_iris().data)


def make_ensemble(folder: Path) -> Path:
    """Trains both models and writes them and ``iris.yaml`` into a folder; gives the file's path."""
    data = load_iris()
    labels = np.array(LABELS)[data.target]
    joblib.dump(LogisticRegression(max_iter=500).fit(data.data, labels), folder / "linear.joblib")
    joblib.dump(RandomForestClassifier(10, random_state=0).fit(data.data, labels), folder / "forest.joblib")
    file = folder / "iris.yaml"
    file.write_text(TEXT)
    return file


def expected(folder: Path) -> tuple[list[str], np.ndarray]:
    """Returns what scikit-learn itself answers: the label of each flower and the averaged probability of it."""
    x = flowers()
    members = [joblib.load(folder / name).predict_proba(x) for name in ("linear.joblib", "forest.joblib")]
    average = np.average(members, axis=0)
    return [LABELS[at] for at in average.argmax(axis=1)], average.max(axis=1)
