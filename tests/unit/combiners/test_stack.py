"""Feature rows are those of scikit-learn's StackingClassifier and StackingRegressor, value for value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_multilabel_classification,
)
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, StackingRegressor
from sklearn.linear_model import LinearRegression, Perceptron, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from tests.support.nodes import load_node, problems_of, types_of

HERE = Path(__file__).parent
Values = np.ndarray[Any, np.dtype[Any]]


def stacked(folder: Path, model: Any, x: Values) -> dict[str, Values]:
    """Runs the members of a fitted stacking model and a ``stack`` of them, as one file, on the rows of ``x``."""
    nodes: dict[str, Any] = {}
    columns: dict[str, Values] = {"x": x}
    for at, (member, method) in enumerate(zip(model.estimators_, model.stack_method_, strict=True)):
        joblib.dump(member, folder / f"m{at}.joblib")
        answer = getattr(member, method)(x[:1])
        shape = np.shape(answer)[1:]
        type_ = f"array<double>[{','.join(map(str, shape))}]" if shape else "double"
        if isinstance(answer, list):
            type_ = f"array<double>[{len(answer)},{answer[0].shape[1]}]"
        node = {"model": "sklearn", "uri": f"m{at}.joblib", "inputs": ["x"], "outputs": {f"p{at}": type_}}
        nodes[f"member{at}"] = node | ({} if method == "predict" else {"method": method})
    inputs = [f"p{at}" for at in range(len(model.estimators_))]
    nodes["stack"] = {"combine": "stack", "inputs": inputs, "outputs": {"features": None}}
    nodes["stack"] |= {"passthrough": ["x"]} if model.passthrough else {}
    text = {"ensemble": "t", "inputs": {"x": f"array<double>[{x.shape[1]}]"}, "nodes": nodes}
    text["outputs"] = ["features"]
    graph = check_text(json.dumps(text), KINDS, Files(str(folder), (str(folder),)))
    for checked in graph.nodes:
        member = KINDS[checked.spec.kind, checked.spec.target].load(checked)
        columns |= member({name: columns[name] for name in checked.inputs})
    ((_, type_of_features),) = graph.outputs
    assert str(type_of_features) == f"array<double>[{columns['features'].shape[1]}]"
    return columns


CLASSIFIERS = [
    ("probabilities", GaussianNB()),
    ("forest", RandomForestClassifier(3, max_depth=3, random_state=0)),
    ("decision", RidgeClassifier()),
    ("both", KNeighborsClassifier(3)),
]
DATA = [load_digits(), load_iris(), load_breast_cancer()]


@pytest.mark.parametrize("passthrough", [False, True], ids=["members", "passthrough"])
@pytest.mark.parametrize("data", DATA, ids=["digits", "iris", "cancer"])
def test_the_features_of_a_classifier_are_scikit_learns(tmp_path: Path, data: Any, passthrough: bool) -> None:
    every = len(data.data) // 150
    x, y = data.data[::every], data.target[::every]
    model = StackingClassifier(
        CLASSIFIERS, DecisionTreeClassifier(max_depth=3), cv=2, passthrough=passthrough
    )
    model.fit(x, y)
    assert model.stack_method_ == ["predict_proba", "predict_proba", "decision_function", "predict_proba"]
    found = stacked(tmp_path, model, x)["features"]
    np.testing.assert_array_equal(found, model.transform(x), strict=True)
    labels = model.classes_[model.final_estimator_.predict(found)]
    np.testing.assert_array_equal(labels, model.predict(x))


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
@pytest.mark.parametrize("data", [load_iris(), load_breast_cancer()], ids=["iris", "cancer"])
def test_what_is_stacked_is_what_the_members_method_gives(tmp_path: Path, data: Any, method: str) -> None:
    member = {"predict_proba": GaussianNB(), "decision_function": Perceptron(), "predict": Perceptron()}[
        method
    ]
    model = StackingClassifier([("m", member)], GaussianNB(), cv=2, stack_method=method)
    model.fit(data.data, data.target)
    found = stacked(tmp_path, model, data.data)["features"]
    np.testing.assert_array_equal(found, model.transform(data.data))


@pytest.mark.parametrize("passthrough", [False, True], ids=["members", "passthrough"])
def test_the_features_of_a_regressor_are_scikit_learns(tmp_path: Path, passthrough: bool) -> None:
    x, y = load_diabetes(return_X_y=True)
    members = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=3, random_state=0))]
    model = StackingRegressor(members, LinearRegression(), cv=2, passthrough=passthrough).fit(x, y)
    found = stacked(tmp_path, model, x)["features"]
    np.testing.assert_array_equal(found, model.transform(x), strict=True)
    np.testing.assert_array_equal(model.final_estimator_.predict(found), model.predict(x))


def test_a_regressor_of_two_targets_loses_none(tmp_path: Path) -> None:
    x, y = load_diabetes(return_X_y=True)
    line = LinearRegression().fit(x, np.stack([y, -y], axis=1))

    class Fitted:
        estimators_, stack_method_, passthrough = [line], ["predict"], False

    found = stacked(tmp_path, Fitted, x)["features"]
    np.testing.assert_array_equal(found, line.predict(x))


def test_of_several_answers_the_first_probability_of_each_is_left_out(tmp_path: Path) -> None:
    x, y = make_multilabel_classification(60, n_classes=3, random_state=0)
    members = [("tree", DecisionTreeClassifier(max_depth=2)), ("near", KNeighborsClassifier(3))]
    model = StackingClassifier(members, KNeighborsClassifier(3), cv=2).fit(x, y)
    found = stacked(tmp_path, model, x)["features"]
    np.testing.assert_array_equal(found, model.transform(x), strict=True)


P, Q = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[1, 2], [3, 4]])
NODE = {"combine": "stack", "inputs": ["p", "q", "n"], "outputs": {"features": None}}
INPUTS = {"p": "array<double>[2]", "q": "array<int64>[2]", "n": "float", "b": "boolean"}
COLUMNS = {"p": P, "q": Q, "n": np.array([5, 6], np.float32), "b": np.array([True, False])}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, [[0.75, 1, 2, 5], [0.5, 3, 4, 6]]),
        ({"drop": "none"}, [[0.25, 0.75, 1, 2, 5], [0.5, 0.5, 3, 4, 6]]),
        ({"passthrough": ["b", "p"]}, [[0.75, 1, 2, 5, 1, 0.25, 0.75], [0.5, 3, 4, 6, 0, 0.5, 0.5]]),
        ({"inputs": ["n"], "passthrough": ["n"]}, [[5, 5], [6, 6]]),
    ],
)
def test_members_stand_in_their_order_and_passed_columns_behind_them(
    more: dict[str, Any], wanted: list[list[float]]
) -> None:
    found = load_node(HERE, INPUTS, NODE | more)(COLUMNS)["features"]
    assert found.tolist() == wanted
    name = "float" if found.dtype == np.float32 else "double"
    assert types_of(HERE, INPUTS, NODE | more) == {"features": f"array<{name}>[{len(wanted[0])}]"}


def test_a_declared_type_is_kept() -> None:
    node = NODE | {"outputs": {"meta_x": "array<float>[4]"}}
    found = load_node(HERE, INPUTS, node)(COLUMNS)["meta_x"]
    assert (found.dtype, found.shape) == (np.float32, (2, 4))
    wrong = NODE | {"outputs": {"meta_x": "array<float>[5]"}}
    assert problems_of(HERE, INPUTS, wrong) == [("type_mismatch", "outputs.meta_x")]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"passthrough": ["t"]}, ("type_mismatch", "passthrough[0]")),
        ({"passthrough": ["n", "nobody"]}, ("unknown_column", "passthrough[1]")),
        ({"passthrough": "n"}, ("wrong_type", "passthrough")),
        ({"passthrough": ["n", 1]}, ("wrong_type", "passthrough[1]")),
        ({"passthrough": ["no name"]}, ("bad_name", "passthrough[0]")),
        ({"inputs": ["t"]}, ("type_mismatch", "inputs[0]")),
        ({"inputs": {"X": "n"}}, ("unknown_port", "inputs.X")),
        ({"drop": "last"}, ("bad_value", "drop")),
        ({"quorum": 1}, ("unknown_option", "quorum")),
    ],
)
def test_a_mistake_is_said_at_its_place(more: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problems_of(HERE, INPUTS | {"t": "string"}, NODE | more) == [problem]


def test_only_a_stack_passes_columns_through() -> None:
    node = {"combine": "mean", "inputs": ["n"], "passthrough": ["b"], "outputs": {"y": None}}
    assert problems_of(HERE, INPUTS, node) == [("unknown_option", "passthrough")]
