"""Forests of scikit-learn, which are called tree by tree: their values are those of scikit-learn's own call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from beam_ensembles.handlers.sklearn.forests import _probes, faster_equivalent
from tests.support.models import diabetes, iris
from tests.support.nodes import load_node

NAMES = np.array(["setosa", "versicolor", "virginica"])
SIZES = (1, 2, 31, 150)
MANY = {"n_estimators": 40, "random_state": 0}


def is_called_tree_by_tree(model: Any, method: str) -> bool:
    return faster_equivalent(model, method) is not model


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


@pytest.mark.parametrize("around", [lambda model: model, scaled])
@pytest.mark.parametrize("make", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"max_depth": 2, "class_weight": "balanced"}])
def test_classes_and_probabilities_are_scikit_learns(
    make: Callable[..., Any], options: dict[str, Any], around: Callable[[Any], Any]
) -> None:
    x, y = iris().x, NAMES[iris().y]
    model = around(make(**MANY, **options)).fit(x, y)
    alone = model.set_params(**{name: None for name in model.get_params() if name.endswith("n_jobs")})
    for method in ("predict", "predict_proba"):
        assert is_called_tree_by_tree(model, method)
        for rows in SIZES:
            wanted = getattr(alone, method)(x[:rows])
            np.testing.assert_array_equal(
                getattr(faster_equivalent(model, method), method)(x[:rows]), wanted, strict=True
            )


@pytest.mark.parametrize("make", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_values_are_scikit_learns(make: Callable[..., Any], criterion: str) -> None:
    x, y = diabetes().x, diabetes().y
    model = make(criterion=criterion, max_depth=4, **MANY).fit(x, y)
    assert is_called_tree_by_tree(model, "predict")
    for rows in (*SIZES, len(x)):
        np.testing.assert_array_equal(
            faster_equivalent(model, "predict").predict(x[:rows]), model.predict(x[:rows]), strict=True
        )


@pytest.mark.parametrize("make", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize(("trees", "rows"), [(10, 512), (10, 511), (9, 512), (30, 5_000)])
def test_rows_that_are_put_in_order_get_their_own_values(
    make: Callable[..., Any], trees: int, rows: int
) -> None:
    random = np.random.default_rng(3)
    model = make(n_estimators=trees, random_state=0).fit(iris().x, iris().y)
    many = random.normal(iris().x.mean(axis=0), iris().x.std(axis=0), size=(rows, 4))
    many[::11, 2] = np.nan
    given = many.copy()
    for method in ("predict", "predict_proba"):
        found = getattr(faster_equivalent(model, method), method)(many)
        np.testing.assert_array_equal(found, getattr(model, method)(many), strict=True)
    np.testing.assert_array_equal(many, given)


def test_values_of_many_rows_are_put_back_where_their_rows_were() -> None:
    x = np.random.default_rng(4).permutation(np.repeat(diabetes().x, 8, axis=0))
    model = RandomForestRegressor(**MANY).fit(diabetes().x, diabetes().y)
    for rows in (x, np.asfortranarray(x), x[::-2]):
        np.testing.assert_array_equal(
            faster_equivalent(model, "predict").predict(rows), model.predict(rows), strict=True
        )


def test_a_tree_of_many_leaves_orders_rows_too() -> None:
    random = np.random.default_rng(5)
    x, y = random.normal(size=(33_000, 2)), random.normal(size=33_000)
    model = RandomForestRegressor(n_estimators=2, bootstrap=False, random_state=0).fit(x, y)
    model.set_params(n_estimators=10).estimators_ *= 5  # training them takes seconds
    assert model.estimators_[0].tree_.node_count > 2**16
    np.testing.assert_array_equal(
        faster_equivalent(model, "predict").predict(x), model.predict(x), strict=True
    )


def test_many_rows_of_a_sparse_matrix_are_taken() -> None:
    texts = ["red blue", "blue", "green red red", "green"] * 200
    model = make_pipeline(CountVectorizer(), RandomForestClassifier(**MANY)).fit(texts, [0, 1, 0, 1] * 200)
    np.testing.assert_array_equal(
        faster_equivalent(model, "predict_proba").predict_proba(texts), model.predict_proba(texts)
    )


def test_rows_without_a_value_go_where_training_sent_them() -> None:
    x = iris().x.copy()
    x[::7, 1] = np.nan
    model = RandomForestClassifier(**MANY).fit(x, iris().y)
    np.testing.assert_array_equal(
        faster_equivalent(model, "predict_proba").predict_proba(x), model.predict_proba(x)
    )
    never = RandomForestClassifier(**MANY).fit(iris().x[:, :2], iris().y)
    np.testing.assert_array_equal(
        faster_equivalent(never, "predict_proba").predict_proba(x[:, :2]), never.predict_proba(x[:, :2])
    )


@pytest.mark.parametrize("bad", [[[np.inf, 1, 1, 1]], [[1, 1, 1]], [[]]])
def test_what_scikit_learn_refuses_is_refused_in_its_words(bad: list[list[float]]) -> None:
    model = RandomForestClassifier(**MANY).fit(iris().x, iris().y)
    with pytest.raises(ValueError, match=r".") as wanted:
        model.predict_proba(np.array(bad))
    with pytest.raises(ValueError, match=r".") as found:
        faster_equivalent(model, "predict_proba").predict_proba(np.array(bad))
    assert str(found.value) == str(wanted.value)


def test_frames_and_sparse_matrices_are_taken_too() -> None:
    frame = pd.DataFrame(iris().x, columns=list("abcd"))
    model = scaled(RandomForestClassifier(**MANY)).set_output(transform="pandas").fit(frame, iris().y)
    np.testing.assert_array_equal(faster_equivalent(model, "predict").predict(frame), model.predict(frame))

    texts = ["red blue", "blue", "green red red", "green"]
    model = make_pipeline(CountVectorizer(), RandomForestClassifier(**MANY)).fit(texts, [0, 1, 0, 1])
    np.testing.assert_array_equal(
        faster_equivalent(model, "predict_proba").predict_proba(texts), model.predict_proba(texts)
    )


def test_many_rows_go_to_the_jobs_that_the_model_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = RandomForestClassifier(n_estimators=200, max_depth=2, n_jobs=2).fit(iris().x, iris().y)
    calls: list[int] = []
    own = RandomForestClassifier.predict_proba
    monkeypatch.setattr(
        RandomForestClassifier, "predict_proba", lambda self, rows: calls.append(len(rows)) or own(self, rows)
    )
    quick = faster_equivalent(model, "predict_proba")
    calls.clear()  # of the comparison
    many = np.repeat(iris().x, 7, axis=0)
    np.testing.assert_allclose(quick.predict_proba(many)[:150], quick.predict_proba(many[:150]))
    assert calls == [len(many)]


def test_others_are_called_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = iris().x, iris().y

    class Ours(RandomForestClassifier):
        """Answers differently from its trees."""

    two = RandomForestClassifier(n_estimators=2).fit(x, np.stack([y, y], axis=1))
    for model in (Ours(n_estimators=2).fit(x, y), two, make_pipeline(StandardScaler()).fit(x)):
        for method in ("predict", "predict_proba", "transform"):
            assert not is_called_tree_by_tree(model, method)
    forest = RandomForestClassifier(n_estimators=2).fit(x, y)
    forest.estimators_[0].predict_proba = lambda rows, check_input: rows
    assert not is_called_tree_by_tree(forest, "predict_proba"), "a tree that was given another method"


@pytest.mark.parametrize("version", ["1.4.2", "1.10.0", "2.0.dev0"])
def test_other_versions_are_called_as_they_are(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forest = RandomForestClassifier(**MANY).fit(iris().x, iris().y)
    assert is_called_tree_by_tree(forest, "predict")
    monkeypatch.setattr("sklearn.__version__", version)
    assert not is_called_tree_by_tree(forest, "predict")


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda rows: np.isnan(rows).any(axis=1),
        lambda rows: np.abs(rows).max(axis=1) > 1e30,
        lambda rows: len(rows) == 1,
        lambda rows: rows[:, 2] == rows[0, 2],
    ],
)
def test_a_forest_whose_trees_alone_answer_differently_is_called_as_it_is(
    wrong: Callable[[np.ndarray], Any], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = RandomForestClassifier(**MANY).fit(iris().x, iris().y)
    own = getattr(RandomForestClassifier, method)

    def other(self: Any, rows: np.ndarray) -> np.ndarray:
        answers = own(self, rows).copy()
        answers[np.nonzero(np.broadcast_to(wrong(rows), len(rows)))[0]] = -1
        return answers

    monkeypatch.setattr(RandomForestClassifier, method, other)
    assert not is_called_tree_by_tree(forest, method)


def test_probes_pass_both_sides_of_each_threshold() -> None:
    x = np.array([[0.1], [0.2], [0.3]])
    forest = RandomForestRegressor(n_estimators=10, random_state=0).fit(x, [1.0, 2.0, 3.0])
    finite = _probes(forest)[0]
    thresholds = {at for tree in forest.estimators_ for at in tree.tree_.threshold[tree.tree_.feature == 0]}
    for threshold in thresholds:
        near = np.abs(finite - threshold) < 1e-7
        assert (finite[near] > threshold).any()
        assert (finite[near] <= threshold).any()


def test_a_forest_of_too_many_features_to_probe_is_called_as_it_is() -> None:
    forest = RandomForestRegressor(n_estimators=2, max_depth=1).fit(np.eye(3, 8_000), [1, 2, 3])
    assert not is_called_tree_by_tree(forest, "predict")


def test_a_node_can_call_it_as_it_is(sklearn_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beam_ensembles.handlers.sklearn.forests.faster_equivalent", None)
    node = {
        "model": "sklearn",
        "uri": "forest.joblib",
        "fast_forests": False,
        "inputs": ["x"],
        "outputs": {"y": "string"},
    }
    run = load_node(sklearn_models, {"x": "array<double>[4]"}, node)
    wanted = joblib.load(sklearn_models / "forest.joblib").predict(iris().x)
    np.testing.assert_array_equal(run({"x": iris().x})["y"], wanted)


def test_a_node_calls_it_tree_by_tree(sklearn_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = joblib.load(sklearn_models / "forest.joblib").predict_proba(iris().x)
    node = {
        "model": "sklearn",
        "uri": "forest.joblib",
        "method": "predict_proba",
        "inputs": ["x"],
        "outputs": {"p": "array<double>[3]"},
    }
    run = load_node(sklearn_models, {"x": "array<double>[4]"}, node)
    monkeypatch.delattr("sklearn.ensemble._forest.ForestClassifier.predict_proba")
    np.testing.assert_array_equal(run({"x": iris().x})["p"], wanted, strict=True)
