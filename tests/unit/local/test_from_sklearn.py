"""``Ensemble.from_sklearn``, ``from_spec`` and ``to_yaml``: an estimator's own answers, and a file that says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from beam_ensembles import Ensemble
from beam_ensembles.errors import EnsembleError, InvalidEnsemble

IRIS, CANCER, DIABETES = (load(as_frame=True) for load in (load_iris, load_breast_cancer, load_diabetes))
LINEAR = ("linear", make_pipeline(StandardScaler(), LogisticRegression()))
FOREST = ("forest", RandomForestClassifier(5, random_state=0))
BAYES = ("naive bayes", GaussianNB())
REGRESSORS = [("linear", LinearRegression()), ("forest", RandomForestRegressor(10, random_state=0))]
NAMED = np.array(["setosa", "it's versicolor", "virginica"])


def as_scored(scored: Any) -> Mapping[str, Any]:
    return {name: list(scored[name]) for name in scored}


def labels_of(data: Any, kind: str) -> Any:
    if kind == "texts":
        return NAMED[data.target]
    if kind == "numbers":
        return np.array([7, 11, 5])[data.target]
    return data.target.to_numpy() == 1 if kind == "booleans" else data.target


CLASSIFIERS = {
    "soft": VotingClassifier([LINEAR, FOREST, BAYES], voting="soft", weights=[2, 1, 1]),
    "hard": VotingClassifier([LINEAR, FOREST, BAYES], weights=[1, 1, 3]),
    "dropped": VotingClassifier([LINEAR, ("gone", "drop"), BAYES], voting="soft", weights=[2, 5, 1]),
    "stacking": StackingClassifier([LINEAR, FOREST], LogisticRegression(), cv=3),
    "passthrough": StackingClassifier([FOREST, BAYES], FOREST[1], cv=3, passthrough=True),
    "decisions": StackingClassifier([("svm", LinearSVC(random_state=0)), BAYES], RidgeClassifier(), cv=3),
    "predictions": StackingClassifier([LINEAR, FOREST], LINEAR[1], cv=3, stack_method="predict"),
}


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["three classes", "two classes"])
@pytest.mark.parametrize("labels", ["numbers from 0", "texts", "numbers", "booleans"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_answers_as_it_does(name: str, labels: str, data: Any, tmp_path: Path) -> None:
    x, y = data.data.to_numpy(), labels_of(data, labels)
    model = CLASSIFIERS[name].fit(x, y)
    ensemble = Ensemble.from_sklearn(model, tmp_path / "made", name=name)
    scored = ensemble.predict([{"features": row} for row in x.tolist()])
    assert [row["label"] for row in scored] == model.predict(x).tolist()
    if hasattr(model, "predict_proba"):
        found = np.array([row["probabilities"] for row in scored])
        np.testing.assert_allclose(found, model.predict_proba(x), rtol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        VotingRegressor(REGRESSORS),
        VotingRegressor(REGRESSORS, weights=[0.3, 1]),
        StackingRegressor(REGRESSORS, LinearRegression(), cv=3, passthrough=True),
    ],
    ids=["mean", "weights", "stacking"],
)
def test_a_regressor_answers_as_it_does(model: Any, tmp_path: Path) -> None:
    frame = DIABETES.data
    model.fit(frame, DIABETES.target)
    scored = Ensemble.from_sklearn(model, tmp_path).predict(frame)
    np.testing.assert_allclose(scored["prediction"], model.predict(frame), rtol=1e-10)
    assert {file.name for file in tmp_path.iterdir()} >= {"ensemble.yaml", "linear.joblib", "forest.joblib"}


def test_columns_of_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"city": ["Ulm", "Jena", "Ulm", "Bern"] * 10, "size": np.arange(40.0)})
    encoded = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    member = make_pipeline(encoded, LogisticRegression())
    model = VotingClassifier([("one", member), ("two", member)], voting="soft")
    model.fit(frame, np.arange(40) % 4 == 0)
    ensemble = Ensemble.from_sklearn(model, tmp_path, inputs={"city": "string", "size": "double"})
    assert ensemble.predict(frame)["label"].tolist() == model.predict(frame).tolist()


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match="RandomForestClassifier is not one of VotingClassifier"):
        Ensemble.from_sklearn(FOREST[1], tmp_path)
    with pytest.raises(EnsembleError, match="is not fitted"):
        Ensemble.from_sklearn(VotingClassifier([LINEAR]), tmp_path)
    model = VotingClassifier([LINEAR]).fit(IRIS.data.to_numpy(), IRIS.target * 2.0)
    with pytest.raises(EnsembleError, match="labels are of type float"):
        Ensemble.from_sklearn(model, tmp_path)
    with pytest.raises(ValueError, match="also the name of the file"):
        Ensemble.from_sklearn(model, tmp_path, name="../up")
    named = VotingClassifier([BAYES]).fit(IRIS.data, IRIS.target)
    with pytest.raises(
        EnsembleError, match=r"column 'sepal length \(cm\)', which cannot be a name.*rename the"
    ):
        Ensemble.from_sklearn(named, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_leaves_nothing(tmp_path: Path) -> None:
    model = VotingRegressor(REGRESSORS).fit(DIABETES.data, DIABETES.target)
    with pytest.raises(InvalidEnsemble):
        Ensemble.from_sklearn(model, tmp_path / "new" / "folder", inputs={"age": "nothing"})
    with pytest.raises(InvalidEnsemble):
        Ensemble.from_sklearn(model, tmp_path, inputs={"age": "nothing"})
    model.estimators_[0].made_here = lambda: None
    with pytest.raises(EnsembleError, match=r"the member 'linear' cannot be saved: .*importable module"):
        Ensemble.from_sklearn(model, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    model = VotingRegressor(REGRESSORS).fit(DIABETES.data, DIABETES.target)
    Ensemble.from_sklearn(model, tmp_path)
    with pytest.raises(EnsembleError, match="exists already"):
        Ensemble.from_sklearn(model, tmp_path)


SPEC = {
    "ensemble": "doubled",
    "inputs": {"n": "double", "no": "string"},
    "nodes": {
        "double": {"apply": "sql", "inputs": ["n"], "select": {"twice": "n * ${by}"}, "outputs": {"twice": "double"}},
        "said": {"apply": "labels", "labels": ["1e3", "no", "~", "0x1f"], "inputs": ["at"], "outputs": {"text": {}}},
        "at": {"apply": "sql", "inputs": ["n"], "select": {"at": "CAST(n AS BIGINT)"}, "outputs": {"at": "int64"}},
    },
}  # fmt: skip


def test_an_ensemble_of_plain_data(tmp_path: Path) -> None:
    made = Ensemble.from_spec(SPEC, parameters={"by": "2"})
    rows = [{"n": float(at), "no": "x"} for at in range(4)]
    scored = made.predict(rows)
    assert [(row["twice"], row["text"]) for row in scored] == [(0, "1e3"), (2, "no"), (4, "~"), (6, "0x1f")]
    (tmp_path / "doubled.yaml").write_text(made.to_yaml())
    again = Ensemble(tmp_path / "doubled.yaml", parameters={"by": "2"})
    assert again.predict(rows) == scored
    assert again.to_yaml() == made.to_yaml()


def test_what_is_wrong_with_plain_data() -> None:
    with pytest.raises(InvalidEnsemble, match=r"numpy\.float64"):
        Ensemble.from_spec({**SPEC, "version": np.float64(1)})
    with pytest.raises(InvalidEnsemble, match="missing_key"):
        Ensemble.from_spec({"ensemble": "nothing"})
    for spec in ("flowers.yaml", [1]):
        with pytest.raises(TypeError, match=r"spec is a mapping .*; found: (str|list)"):
            Ensemble.from_spec(spec)  # type: ignore[arg-type]
