"""Nodes of scikit-learn: what is checked of them, and what they answer."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import SVC

from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from tests.support.models import diabetes, iris
from tests.support.nodes import check_node, load_node, problems_of, types_of

FOUR = {"x": "array<double>[4]"}
PROBA = {
    "model": "sklearn",
    "uri": "logistic.joblib",
    "method": "predict_proba",
    "inputs": ["x"],
    "outputs": {"p": "array<double>[3]"},
}


def test_probabilities_are_the_models_own(sklearn_models: Path) -> None:
    x = iris().x
    answer = load_node(sklearn_models, FOUR, PROBA)({"x": x})
    wanted = joblib.load(sklearn_models / "logistic.joblib").predict_proba(x)
    np.testing.assert_array_equal(answer["p"], wanted, strict=True)


def test_labels_come_as_text(sklearn_models: Path) -> None:
    x = iris().x
    node = PROBA | {"uri": "forest.joblib", "method": "predict", "outputs": {"label": "string"}}
    answer = load_node(sklearn_models, FOUR, node)({"x": x})["label"]
    assert answer.dtype == object
    assert answer.tolist() == joblib.load(sklearn_models / "forest.joblib").predict(x).tolist()


def test_scalars_are_joined_in_the_order_of_the_node(sklearn_models: Path) -> None:
    x = iris().x
    inputs = {"d": "double", "c": "double", "ab": "array<double>[2]"}
    columns = {"ab": x[:, :2], "c": x[:, 2], "d": x[:, 3]}
    answer = load_node(sklearn_models, inputs, PROBA | {"inputs": ["ab", "c", "d"]})(columns)
    np.testing.assert_array_equal(answer["p"], load_node(sklearn_models, FOUR, PROBA)({"x": x})["p"])


def test_a_tensor_of_more_dimensions_is_flattened(sklearn_models: Path) -> None:
    x = iris().x
    answer = load_node(sklearn_models, {"x": "array<double>[2,2]"}, PROBA)({"x": x.reshape(-1, 2, 2)})
    np.testing.assert_array_equal(answer["p"], load_node(sklearn_models, FOUR, PROBA)({"x": x})["p"])


def test_a_pickle_is_read_by_the_end_of_its_name_and_numbers_become_the_declared_type(
    sklearn_models: Path,
) -> None:
    node = {"model": "sklearn", "uri": "linear.pkl", "inputs": ["x"], "outputs": {"y": "float"}}
    answer = load_node(sklearn_models, {"x": "array<double>[10]"}, node)({"x": diabetes().x})["y"]
    wanted = (
        pickle.loads((sklearn_models / "linear.pkl").read_bytes()).predict(diabetes().x).astype(np.float32)
    )
    np.testing.assert_array_equal(answer, wanted, strict=True)


def test_the_format_can_be_said(sklearn_models: Path, tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(pickle.dumps(joblib.load(sklearn_models / "logistic.joblib")))
    node = PROBA | {"uri": "model.bin"}
    assert problems_of(tmp_path, FOUR, node) == [("missing_key", "format")]
    answer = load_node(tmp_path, FOUR, node | {"format": "pickle"})({"x": iris().x})
    assert answer["p"].shape == (150, 3)


@pytest.mark.parametrize(
    ("method", "uri", "type_"),
    [
        ("transform", "scaler.joblib", "array<double>[4]"),
        ("decision_function", "logistic.joblib", "array<double>[3]"),
    ],
)
def test_other_methods_are_called_too(sklearn_models: Path, method: str, uri: str, type_: str) -> None:
    x = iris().x
    node = PROBA | {"uri": uri, "method": method, "outputs": {"y": type_}}
    wanted = getattr(joblib.load(sklearn_models / uri), method)(x)
    np.testing.assert_array_equal(load_node(sklearn_models, FOUR, node)({"x": x})["y"], wanted)


def test_text_goes_to_a_vectorizer_as_it_is_and_sparse_answers_become_dense(tmp_path: Path) -> None:
    texts = ["red blue", "blue", "green red red"]
    joblib.dump(CountVectorizer().fit(texts), tmp_path / "words.joblib")
    node = PROBA | {"uri": "words.joblib", "method": "transform", "outputs": {"counts": "array<int64>[3]"}}
    answer = load_node(tmp_path, {"x": "string"}, node)({"x": np.array(texts, dtype=object)})
    assert answer["counts"].tolist() == [[1, 0, 1], [1, 0, 0], [0, 1, 2]]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"uri": "forrest.joblib"}, ("missing_file", "uri")),
        ({"method": "guess"}, ("bad_value", "method")),
        ({"outputs": {"p": None}}, ("missing_type", "outputs.p")),
        ({"outputs": {"p": "double"}}, ("signature_mismatch", "outputs.p")),
        (
            {"outputs": {"p": {"from": "probabilities", "type": "array<double>[3]"}}},
            ("unknown_port", "outputs.p"),
        ),
        ({"inputs": {"X": "x"}}, ("type_mismatch", "inputs.X")),
        ({"sha256": "9f2c"}, ("bad_sha256", "sha256")),
        ({"sha256": "0" * 64}, ("sha256_mismatch", "sha256")),
        ({"config": {"model_file_type": 1}}, ("unsupported_option", "config.model_file_type")),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    sklearn_models: Path, change: dict[str, object], problem: tuple[str, str]
) -> None:
    assert problems_of(sklearn_models, FOUR, PROBA | change) == [problem]


def test_columns_that_no_model_takes(sklearn_models: Path) -> None:
    ragged = {"x": "array<double>"}
    assert problems_of(sklearn_models, ragged, PROBA) == [("type_mismatch", "inputs[0]")]
    mixed = {"x": "map<string,double>", "word": "string"}
    assert problems_of(sklearn_models, mixed, PROBA | {"inputs": ["x", "word"]}) == [
        ("type_mismatch", "inputs[0]")
    ]


def test_a_pickle_is_loaded_only_where_something_vouches_for_it(sklearn_models: Path) -> None:
    assert problems_of(sklearn_models, FOUR, PROBA, trust=False) == [("untrusted_file", "uri")]
    digest = hashlib.sha256((sklearn_models / "logistic.joblib").read_bytes()).hexdigest()
    pinned = check_node(sklearn_models, FOUR, PROBA | {"sha256": digest.upper()}, trust=False)
    assert pinned.uri == str(sklearn_models / "logistic.joblib")


def _at_load(folder: Path, inputs: dict[str, str], node: dict[str, object]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(folder, inputs, node)
    return [(problem.code, problem.path) for problem in caught.value.problems]


def test_a_model_that_is_not_as_the_file_says_is_refused_when_it_is_loaded(sklearn_models: Path) -> None:
    five = {"x": "array<double>[5]"}
    assert _at_load(sklearn_models, five, PROBA) == [("signature_mismatch", "nodes.node.inputs")]
    two = PROBA | {"outputs": {"p": "array<double>[2]"}}
    assert _at_load(sklearn_models, FOUR, two) == [("signature_mismatch", "nodes.node.outputs.p")]
    scaler = PROBA | {"uri": "scaler.joblib"}
    assert _at_load(sklearn_models, FOUR, scaler) == [("signature_mismatch", "nodes.node.method")]


def test_arguments_that_the_method_does_not_take(sklearn_models: Path) -> None:
    node = PROBA | {"uri": "forest.joblib", "inference_args": {"temperature": 2}}
    assert _at_load(sklearn_models, FOUR, node) == [("signature_mismatch", "nodes.node.inference_args")]


def test_labels_are_compared_with_the_models_classes_when_it_is_loaded(sklearn_models: Path) -> None:
    named = PROBA | {"uri": "forest.joblib"}
    right = named | {"labels": ["setosa", "versicolor", "virginica"]}
    assert load_node(sklearn_models, FOUR, right)({"x": iris().x})["p"].shape == (150, 3)
    swapped = named | {"labels": ["setosa", "virginica", "versicolor"]}
    assert _at_load(sklearn_models, FOUR, swapped) == [("signature_mismatch", "nodes.node.labels")]
    names_of_numbers = PROBA | {"labels": ["zero", "one", "two"]}
    assert load_node(sklearn_models, FOUR, names_of_numbers)({"x": iris().x})["p"].shape == (150, 3)
    too_few = PROBA | {"labels": ["zero", "one"]}
    assert _at_load(sklearn_models, FOUR, too_few) == [("signature_mismatch", "nodes.node.labels")]
    assert problems_of(sklearn_models, FOUR, PROBA | {"labels": ["a", "a"]}) == [("bad_labels", "labels")]


def test_a_method_that_this_model_was_not_made_for(tmp_path: Path) -> None:
    joblib.dump(SVC().fit(iris().x, iris().y), tmp_path / "logistic.joblib")
    assert _at_load(tmp_path, FOUR, PROBA) == [("signature_mismatch", "nodes.node.method")]


TWO = {"a": "double", "b": "double"}


@pytest.mark.parametrize("type_", ["double", "array<double>[2]"])
def test_means_and_deviations_of_two_rows_are_not_taken_for_a_row_each(tmp_path: Path, type_: str) -> None:
    from sklearn.linear_model import BayesianRidge

    features = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 1.0]])
    joblib.dump(BayesianRidge().fit(features, features.sum(axis=1)), tmp_path / "m.joblib")
    node = {
        "model": "sklearn", "uri": "m.joblib", "inputs": ["a", "b"], "outputs": {"y": type_},
        "inference_args": {"return_std": True}, "trial": False,
    }  # fmt: skip
    with pytest.raises(EnsembleError, match="predict gave 2 arrays, as with 'return_std'"):
        load_node(tmp_path, TWO, node)({"a": features[:2, 0], "b": features[:2, 1]})


def test_outputs_of_different_numbers_of_classes_are_one_sentence(tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeClassifier

    features = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 1.0]])
    labels = np.array([[0, 0], [1, 1], [0, 2], [1, 2]])
    joblib.dump(DecisionTreeClassifier().fit(features, labels), tmp_path / "m.joblib")
    node = {
        "model": "sklearn", "uri": "m.joblib", "inputs": ["a", "b"], "method": "predict_proba",
        "outputs": {"y": "array<double>[2,3]"}, "trial": False,
    }  # fmt: skip
    with pytest.raises(EnsembleError, match=r"different numbers of classes \(2, 3\)"):
        load_node(tmp_path, TWO, node)({"a": features[:, 0], "b": features[:, 1]})


def test_xgboosts_classifier_of_several_labels_gives_a_probability_each(tmp_path: Path) -> None:
    import xgboost

    features = np.random.default_rng(0).random((20, 2))
    labels = np.stack([features[:, 0] > 0.5, features[:, 1] > 0.5, features.sum(axis=1) > 1], axis=1).astype(
        int
    )
    model = xgboost.XGBClassifier(n_estimators=3).fit(features, labels)
    joblib.dump(model, tmp_path / "m.joblib")
    node = {
        "model": "sklearn", "uri": "m.joblib", "inputs": ["a", "b"], "method": "predict_proba",
        "outputs": {"y": "array<float>[3]"},
    }  # fmt: skip
    found = load_node(tmp_path, TWO, node)({"a": features[:, 0], "b": features[:, 1]})
    np.testing.assert_array_equal(found["y"], model.predict_proba(features))


def test_a_file_that_was_changed_after_the_check_is_not_loaded(sklearn_models: Path, tmp_path: Path) -> None:
    from beam_ensembles.registry import KINDS

    copy = tmp_path / "logistic.joblib"
    copy.write_bytes((sklearn_models / "logistic.joblib").read_bytes())
    digest = hashlib.sha256(copy.read_bytes()).hexdigest()
    checked = check_node(tmp_path, FOUR, PROBA | {"sha256": digest}, trust=False)
    copy.write_bytes((sklearn_models / "forest.joblib").read_bytes())
    with pytest.raises(InvalidEnsemble, match="is not the pinned one"):
        KINDS[("model", "sklearn")].load(checked)


def test_a_file_that_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "logistic.joblib").write_text("no model")
    with pytest.raises(
        EnsembleError,
        match=r"\[load_failed\] nodes\.node\.uri: cannot load '.*logistic\.joblib' as sklearn: ",
    ):
        load_node(tmp_path, FOUR, PROBA)


def test_types_are_those_declared(sklearn_models: Path) -> None:
    assert types_of(sklearn_models, FOUR, PROBA) == {"p": "array<double>[3]"}
    assert types_of(sklearn_models, FOUR, PROBA | {"outputs": {"p": "array<float>[3]"}}) == {
        "p": "array<float>[3]"
    }


class StandInForCatBoost:
    """CatBoost's classifier once joblib has loaded it: 0 features, and names of its own kind."""

    n_features_in_ = 0
    classes_ = np.array(["a", "b"])

    def __init__(self, *names: str) -> None:
        self.feature_names_ = list(names)

    def predict(self, rows: object) -> np.ndarray:
        """Returns the first feature, from a frame by its name."""
        values = rows["width"] if hasattr(rows, "columns") else np.asarray(rows)[:, 0]
        return np.where(np.asarray(values) > 0, "a", "b")[:, None]


class StandInForLightGbm:
    """LightGBM's ``Booster``, whose names are those of an array."""

    def feature_name(self) -> list[str]:
        """Returns the names of its features."""
        return ["Column_0", "Column_1"]

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Returns the sum of each row."""
        return rows.sum(axis=1)


def test_no_features_are_an_unknown_number_and_catboost_knows_the_names(tmp_path: Path) -> None:
    node = {"model": "sklearn", "uri": "cb.joblib", "inputs": ["h", "w"], "outputs": {"y": "string"}}
    inputs, rows = {"h": "double", "w": "double"}, {"h": np.array([1.0, -1.0]), "w": np.array([-1.0, 1.0])}
    joblib.dump(StandInForCatBoost("0", "1"), tmp_path / "cb.joblib")
    assert load_node(tmp_path, inputs, node)(rows)["y"].tolist() == ["a", "b"]
    with pytest.raises(InvalidEnsemble, match="trained on 2 features, the columns of the node hold 1"):
        load_node(tmp_path, inputs, node | {"inputs": ["h"]})
    joblib.dump(StandInForCatBoost("height", "width"), tmp_path / "cb.joblib")
    named = node | {"inputs": {"width": "w", "height": "h"}}
    assert load_node(tmp_path, inputs, named)(rows)["y"].tolist() == ["b", "a"]
    joblib.dump(StandInForCatBoost(), tmp_path / "cb.joblib")
    assert load_node(tmp_path, inputs, node)(rows)["y"].tolist() == ["a", "b"]


def test_names_that_only_count_are_none(tmp_path: Path) -> None:
    node = {"model": "sklearn", "uri": "b.joblib", "inputs": ["h", "w"], "outputs": {"y": "double"}}
    inputs, rows = {"h": "double", "w": "double"}, {"h": np.array([1.0]), "w": np.array([2.0])}
    joblib.dump(StandInForLightGbm(), tmp_path / "b.joblib")
    assert load_node(tmp_path, inputs, node)(rows)["y"].tolist() == [3.0]
