"""MLServer with models of real data, and the same models here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support.mlserver import MLServer, running_mlserver
from tests.support.models import cancer, diabetes, iris

TEXTS = ["good day", "bad day", "good night", "bad night", "a good one"]


@pytest.fixture(scope="session")
def models() -> dict[str, Any]:
    """The models that MLServer serves, by name."""
    flowers, patients, tumours = iris(), diabetes(), cancer()
    names = np.array(["setosa", "versicolor", "virginica"])[flowers.y]
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()).fit(flowers.x, flowers.y),
        "forest": RandomForestClassifier(20, random_state=0).fit(flowers.x, names),
        "tumours": RandomForestClassifier(20, random_state=0).fit(tumours.x, tumours.y),
        "patients": LinearRegression().fit(patients.x, patients.y),
        "scaler": StandardScaler().fit(flowers.x),
        "mood": make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, ["+", "-", "+", "-", "+"]),
    }


def tensor(name: str, datatype: str, *shape: int, **parameters: str) -> dict[str, Any]:
    """What a model's settings say of an input or an output."""
    own = {"name": name, "datatype": datatype, "shape": [-1, *shape]}
    return own | ({"parameters": parameters} if parameters else {})


SETTINGS: dict[str, dict[str, Any]] = {
    "logistic": {
        "inputs": [tensor("x", "FP64", 4)],
        "outputs": [tensor("predict", "INT64", 1), tensor("predict_proba", "FP64", 3)],
    },
    "forest": {"inputs": [tensor("x", "FP64", 4)], "outputs": [tensor("predict", "BYTES", 1)]},
    "tumours": {},
    "patients": {"inputs": [tensor("x", "FP64", 10)], "outputs": [tensor("predict", "FP64", 1)]},
    "scaler": {"inputs": [tensor("x", "FP32", 4)], "outputs": [tensor("transform", "FP64", 4)]},
    "mood": {
        "inputs": [tensor("x", "BYTES", content_type="str")],
        "outputs": [tensor("predict", "BYTES", 1)],
    },
}


@pytest.fixture(scope="session")
def mlserver(models: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[MLServer]:
    """A server that no test ends."""
    served = {name: (model, SETTINGS[name]) for name, model in models.items()}
    with running_mlserver(tmp_path_factory.mktemp("mlserver"), served) as server:
        yield server
