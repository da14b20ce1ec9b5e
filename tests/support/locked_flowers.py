"""An ensemble of flowers with its models and rows, to lock, change and compare."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from beam_ensembles.cli.comparing_versions import Comparing, report_of
from beam_ensembles.cli.locking import loaded, write_lock
from beam_ensembles.locks.differences import Limits, Report

X, Y = load_iris(return_X_y=True)
NAMES = [str(name) for name in load_iris().target_names]
WORDS = (("small", "white"), ("blue", "common"), ("blue", "tall"))
DRAWN = np.random.default_rng(5)
HALF = DRAWN.permutation(len(Y))[:75]
Change: TypeAlias = Callable[[Path], object]
FILE = """\
ensemble: flowers
inputs: {x: "array<double>[4]", note: string}
nodes:
  linear: {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [x], outputs: {one: "array<double>[3]"}}
  forest: {model: sklearn, uri: forest.joblib, method: predict_proba, inputs: [x], outputs: {two: "array<double>[3]"}}
  words:
    model: sklearn
    uri: words.joblib
    method: predict_proba
    inputs: [note]
    outputs: {three: "array<double>[3]"}
  vote:
    combine: soft_vote
    inputs: [one, two, three]
    weights: [3, 2, 1]
    labels: [setosa, versicolor, virginica]
    outputs: {species: {from: label}, confidence: double, scores: {from: probabilities}}
  doubt: {apply: sql, select: {unsure: "COALESCE(confidence < 0.7, FALSE)"}, outputs: {unsure: boolean}}
  lane: {route: switch, cases: [{when: "confidence < 0.5", arm: slow}], default: fast, outputs: {lane: string}}
outputs: [species, confidence, scores, unsure, lane]
"""


def notes(seed: int = 0) -> list[str]:
    """Returns a text for each flower that says something of its kind."""
    drawn = np.random.default_rng(seed)
    return [
        f"{WORDS[kind][int(first)]} {WORDS[drawn.integers(3)][1]}"
        for kind, first in zip(Y, drawn.integers(0, 2, len(Y)), strict=True)
    ]


def linear(x: Any = X, y: Any = Y) -> Any:
    """Returns a scaler and a linear model."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(x, y)


def forest(x: Any = X, y: Any = Y, trees: int = 8, seed: int = 0) -> Any:
    """Returns a small forest."""
    return RandomForestClassifier(trees, random_state=seed).fit(x, y)


def words(vocabulary: list[str] | None = None) -> Any:
    """Returns a model of the texts, of some of their words."""
    counts = ColumnTransformer([("note", CountVectorizer(vocabulary=vocabulary), "note")])
    return make_pipeline(counts, LogisticRegression()).fit(pd.DataFrame({"note": notes()}), Y)


def model(name: str, make: Callable[[], object]) -> Change:
    """Returns what puts another model into the place of one."""
    return lambda folder: joblib.dump(make(), folder / f"{name}.joblib")


def text(old: str, new: str) -> Change:
    """Returns what changes a text of the ensemble file."""
    assert old in FILE
    return lambda folder: (folder / "flowers.yaml").write_text(FILE.replace(old, new))


def swapped(folder: Path) -> None:
    """Swaps the files of two members."""
    (folder / "linear.joblib").rename(folder / "other")
    (folder / "forest.joblib").rename(folder / "linear.joblib")
    (folder / "other").rename(folder / "forest.joblib")


def nudged() -> object:
    found = linear()
    found[-1].coef_ += DRAWN.normal(0, 0.02, found[-1].coef_.shape)
    return found


def without_a_tree() -> object:
    found = forest()
    found.estimators_ = found.estimators_[:-1]
    return found


CHANGES: dict[str, tuple[str, Change]] = {
    "permuted labels of a vote": (
        "vote",
        text("labels: [setosa, versicolor, virginica]", "labels: [virginica, setosa, versicolor]"),
    ),
    "permuted classes of a model": ("linear", model("linear", lambda: linear(X, (Y + 1) % 3))),
    "swapped features": ("linear", model("linear", lambda: linear(X[:, ::-1]))),
    "scaled inputs": ("forest", model("forest", lambda: forest(X * 10))),
    "shifted inputs": ("forest", model("forest", lambda: forest(X + 0.3))),
    "retrained on other rows": ("linear", model("linear", lambda: linear(X[HALF], Y[HALF]))),
    "retrained with another seed": ("forest", model("forest", lambda: forest(seed=9))),
    "a tree is missing": ("forest", model("forest", without_a_tree)),
    "coefficients nudged by 2 %": ("linear", model("linear", nudged)),
    "the scaler is missing": (
        "linear",
        model("linear", lambda: LogisticRegression(max_iter=500).fit((X - X.mean(0)) / X.std(0), Y)),
    ),
    "a model that has learned nothing": ("linear", model("linear", lambda: DummyClassifier().fit(X, Y))),
    "another library's kind of model": (
        "forest",
        model("forest", lambda: GradientBoostingClassifier(n_estimators=5).fit(X, Y)),
    ),
    "a truncated vocabulary": ("words", model("words", lambda: words(["small", "blue"]))),
    "swapped members": ("forest", swapped),
    "other weights": ("vote", text("weights: [3, 2, 1]", "weights: [1, 2, 3]")),
    "a member without a vote": ("vote", text("weights: [3, 2, 1]", "weights: [3, 2, 0]")),
    "another threshold": ("doubt", text("confidence < 0.7", "confidence < 0.9")),
    "another condition of a route": ("lane", text("confidence < 0.5", "confidence < 0.8")),
    "renamed labels": (
        "vote",
        text("labels: [setosa, versicolor, virginica]", "labels: [setosa, versicolor, Virginica]"),
    ),
    "another arm": ("lane", text("default: fast", "default: quick")),
}
"""What changes the answers: the node at which the difference begins, and what makes it in a folder."""


def write(folder: Path) -> Path:
    """Writes the file, its models and rows, of which some fields are only for people; returns the file."""
    joblib.dump(linear(), folder / "linear.joblib")
    joblib.dump(forest(), folder / "forest.joblib")
    joblib.dump(words(), folder / "words.joblib")
    rows = {"x": X.tolist(), "note": notes(), "kind": [NAMES[one] for one in Y], "wide": X[:, 1] > 3}
    pd.DataFrame(rows).to_parquet(folder / "rows.parquet")
    (folder / "flowers.yaml").write_text(FILE)
    return folder / "flowers.yaml"


def lock(folder: Path, *, most: int = 1_000) -> Path:
    """Locks the ensemble in a folder; returns the lock."""
    output = folder / "flowers.lock.yaml"
    ensemble = loaded(os.fspath(folder / "flowers.yaml"), {}, ())
    write_lock(ensemble, os.fspath(folder / "rows.parquet"), most, os.fspath(output), lambda _: None)
    return output


def compare(old: Path, new: Path, **others: Any) -> Report:
    """Compares two versions; by default with no room for differences of labels."""
    given = {"limits": Limits(0.0), **others}
    return report_of(Comparing(old=os.fspath(old), new=os.fspath(new), **given), lambda _: None)
