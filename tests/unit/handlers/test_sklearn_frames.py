"""scikit-learn models that were fitted on a DataFrame, or on columns of text: which column is which feature."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from beam_ensembles.errors import InvalidEnsemble
from tests.support.nodes import load_node, problems_of

GOODS = {"size": "double", "color": "string", "note": "string", "count": "int64"}
NODE = {
    "model": "sklearn",
    "uri": "goods.joblib",
    "method": "predict_proba",
    "inputs": ["size", "color", "note", "count"],
    "outputs": {"p": "array<double>[2]"},
}


def goods(rows: int = 60) -> pandas.DataFrame:
    """Rows of a number, a category, a text and a count."""
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "color": rng.choice(["red", "green", "blue"], rows),
            "size": rng.normal(size=rows),
            "note": rng.choice(["a fine one", "a poor one", "fine"], rows),
            "count": rng.integers(0, 9, rows),
        }
    )


def columns_of(frame: pandas.DataFrame) -> dict[str, np.ndarray[Any, Any]]:
    """The frame's columns as a batch holds them."""
    return {
        name: frame[name].to_numpy(dtype=object if name in ("color", "note") else None)
        for name in frame.columns
    }


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline fitted on ``goods``, and models fitted on other frames."""
    folder, frame = tmp_path_factory.mktemp("frames"), goods()
    features = ColumnTransformer(
        [
            ("color", OneHotEncoder(), ["color"]),
            ("scaled", StandardScaler(), ["size", "count"]),
            ("words", TfidfVectorizer(), "note"),
        ]
    )
    labels = frame["color"].eq("red").to_numpy() | (frame["size"].to_numpy() > 1)
    joblib.dump(make_pipeline(features, LogisticRegression()).fit(frame, labels), folder / "goods.joblib")
    flowers = load_iris(as_frame=True)
    model = LogisticRegression(max_iter=500).fit(flowers.data, flowers.target)
    joblib.dump(model, folder / "flowers.joblib")
    texts = frame[["color", "note"]].to_numpy(dtype=object)
    joblib.dump(
        make_pipeline(OneHotEncoder(), LogisticRegression()).fit(texts, labels), folder / "texts.joblib"
    )
    both = np.c_[flowers.target == 1, flowers.target > 1]
    joblib.dump(MultiOutputClassifier(model).fit(flowers.data.to_numpy(), both), folder / "both.joblib")
    return folder


@pytest.mark.parametrize(
    "inputs", [NODE["inputs"], {"note": "note", "count": "count", "size": "size", "color": "color"}]
)
def test_a_model_fitted_on_a_frame_gets_its_columns_by_name(frames: Path, inputs: Any) -> None:
    frame = goods()
    answer = load_node(frames, GOODS, NODE | {"inputs": inputs})(columns_of(frame))["p"]
    np.testing.assert_array_equal(answer, joblib.load(frames / "goods.joblib").predict_proba(frame))


def test_a_mapping_names_the_features_of_columns_of_other_names(frames: Path) -> None:
    frame = goods()
    renamed = {"a": "double", "b": "string", "c": "string", "d": "int32"}
    node = NODE | {"inputs": {"size": "a", "color": "b", "note": "c", "count": "d"}}
    batch = columns_of(
        frame.rename(columns={"size": "a", "color": "b", "note": "c", "count": "d"}).astype({"d": "int32"})
    )
    batch["b"], batch["c"] = batch["b"].astype(object), batch["c"].astype(object)
    answer = load_node(frames, renamed, node)(batch)["p"]
    np.testing.assert_array_equal(answer, joblib.load(frames / "goods.joblib").predict_proba(frame))


@pytest.mark.parametrize(
    ("inputs", "columns"),
    [({"x": "array<double>[4]"}, ["x"]), (dict.fromkeys("abcd", "double"), list("abcd"))],
)
def test_columns_that_have_no_features_name_are_taken_in_order(
    frames: Path, inputs: dict[str, str], columns: list[str]
) -> None:
    flowers = load_iris(as_frame=True).data
    node = NODE | {"uri": "flowers.joblib", "inputs": columns, "outputs": {"p": "array<double>[3]"}}
    x = flowers.to_numpy()
    batch = {"x": x} if len(columns) == 1 else {name: x[:, at] for at, name in enumerate(columns)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = load_node(frames, inputs, node)(batch)["p"]
    np.testing.assert_array_equal(answer, joblib.load(frames / "flowers.joblib").predict_proba(flowers))


def test_text_columns_without_names_are_a_matrix_of_objects(frames: Path) -> None:
    frame = goods()
    node = NODE | {"uri": "texts.joblib", "inputs": ["color", "note"]}
    answer = load_node(frames, GOODS, node)(columns_of(frame)).get("p")
    texts = frame[["color", "note"]].to_numpy(dtype=object)
    np.testing.assert_array_equal(answer, joblib.load(frames / "texts.joblib").predict_proba(texts))


def test_probabilities_of_several_outputs_are_put_together(frames: Path) -> None:
    x = load_iris().data
    node = NODE | {"uri": "both.joblib", "inputs": ["x"], "outputs": {"p": "array<double>[2,2]"}}
    answer = load_node(frames, {"x": "array<double>[4]"}, node)({"x": x})["p"]
    wanted = joblib.load(frames / "both.joblib").predict_proba(x)
    np.testing.assert_array_equal(answer, np.stack(wanted, axis=1))


@pytest.mark.parametrize(
    ("inputs", "places"),
    [
        (["size", "color", "note"], ["inputs"]),
        ({"size": "size", "colour": "color", "note": "note", "count": "count"}, ["inputs.colour", "inputs"]),
        (["size", "color", "note", "count", "more"], ["inputs[4]"]),
    ],
)
def test_features_that_do_not_match_are_named(frames: Path, inputs: Any, places: list[str]) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(frames, GOODS | {"more": "double"}, NODE | {"inputs": inputs})
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [
        ("signature_mismatch", f"nodes.node.{place}") for place in places
    ]
    if "inputs.colour" in places:
        assert "did you mean 'color'?" in str(caught.value)


def test_a_named_feature_is_one_value_a_row(frames: Path) -> None:
    inputs = GOODS | {"size": "array<double>[2]"}
    node = NODE | {"inputs": {"size": "size", "color": "color"}}
    assert problems_of(frames, inputs, node) == [("type_mismatch", "inputs.size")]


class TenTimesTheFirst:
    """A step as people write one: it changes what it is given."""

    def fit(self, rows: Any, _: Any = None) -> TenTimesTheFirst:
        """Notes its features' names, and returns itself."""
        if isinstance(rows, pandas.DataFrame):
            self.feature_names_in_ = np.asarray(rows.columns, object)
        return self

    def transform(self, rows: Any) -> Any:
        """Multiplies the first feature."""
        if isinstance(rows, pandas.DataFrame):
            rows.iloc[:, 0] = rows.iloc[:, 0] * 10
        else:
            rows[:, 0] *= 10
        return rows


@pytest.mark.parametrize("knows_names", [True, False])
@pytest.mark.parametrize("width", [1, 3])
def test_a_step_may_change_what_it_is_given_and_no_other_node_sees_it(
    width: int, knows_names: bool, tmp_path: Path
) -> None:
    rows = np.random.default_rng(2).normal(size=(30, width))
    given: Any = pandas.DataFrame(rows, columns=list("abc"[:width])) if knows_names else rows
    model = make_pipeline(TenTimesTheFirst(), LinearRegression()).fit(given.copy(), rows.sum(axis=1))
    joblib.dump(model, tmp_path / "m.joblib")
    type_ = "double" if width == 1 else f"array<double>[{width}]"
    node = {"model": "sklearn", "uri": "m.joblib", "inputs": ["x"], "outputs": {"y": "double"}}
    member = load_node(tmp_path, {"x": type_}, node)
    column = rows[:, 0].copy() if width == 1 else rows.copy()
    column.setflags(write=False)  # as a batch has it
    for _ in range(2):
        np.testing.assert_allclose(member({"x": column})["y"], model.predict(given.copy()))
    np.testing.assert_array_equal(column.reshape(rows.shape), rows)
