"""scikit-learn models in skops files: what is read of them before they are loaded, and which may be loaded."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
)
from beam_ensembles.handlers.sklearn.skops_header import Header, read_header
from beam_ensembles.registry import KINDS
from tests.support.models import iris
from tests.support.nodes import check_node, load_node, problems_of, types_of

skops_io = pytest.importorskip("skops.io")

FOUR = {"x": "array<double>[4]"}
PROBA: dict[str, Any] = {
    "model": "sklearn",
    "uri": "named.skops",
    "method": "predict_proba",
    "inputs": ["x"],
    "outputs": {"p": None},
}
SPECIES = ["setosa", "versicolor", "virginica"]


class Own(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model of somebody's own."""

    def fit(self, x: Any, y: Any) -> Own:
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, x: Any) -> Any:
        return np.full(len(x), self.mean_)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models saved by skops."""
    folder, data = tmp_path_factory.mktemp("skops"), iris()
    flowers = load_iris(as_frame=True).data
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    models = {
        "named": scaled.fit(flowers, np.array(SPECIES)[data.y]),
        "forest": RandomForestClassifier(3, random_state=0).fit(data.x, data.y),
        "line": LinearRegression().fit(data.x, data.y),
        "own": Own().fit(data.x, data.y),
    }
    for name, model in models.items():
        skops_io.dump(model, folder / f"{name}.skops")
    return folder


def test_the_header_says_what_the_model_says(folder: Path) -> None:
    named = read_header(str(folder / "named.skops"))
    names = tuple(load_iris(as_frame=True).data.columns)
    assert named == Header("Pipeline", (), 4, names, tuple(SPECIES))
    forest = read_header(str(folder / "forest.skops"))
    compiled = (
        "sklearn.ensemble._forest.RandomForestClassifier",
        "sklearn.tree._classes.DecisionTreeClassifier",
        "sklearn.tree._tree.Tree",
    )
    assert forest == Header("RandomForestClassifier", compiled, 4, None, (0, 1, 2))
    assert read_header(str(folder / "line.skops")) == Header("LinearRegression", (), 4, None, None)


@pytest.mark.parametrize("name", ["named", "forest", "line", "own"])
def test_what_skops_does_not_trust_the_header_does_not_either(folder: Path, name: str) -> None:
    header = read_header(str(folder / f"{name}.skops"))
    assert set(header.untrusted) >= set(skops_io.get_untrusted_types(file=folder / f"{name}.skops"))


def test_a_model_of_known_types_needs_nobody_to_vouch_for_it_and_types_its_outputs(folder: Path) -> None:
    checked = check_node(folder, FOUR, PROBA, trust=False)
    assert {name: str(type_) for name, type_ in checked.outputs.items()} == {"p": "array<double>[3]"}
    assert types_of(folder, FOUR, PROBA | {"method": "predict"}) == {"p": "string"}
    assert types_of(folder, FOUR, PROBA | {"uri": "forest.skops", "method": "predict"}) == {"p": "int64"}
    answer = KINDS["model", "sklearn"].load(checked)({"x": iris().x})["p"]
    model = skops_io.load(folder / "named.skops")
    np.testing.assert_array_equal(answer, model.predict_proba(load_iris(as_frame=True).data))


@pytest.mark.parametrize("name", ["forest", "own"])
def test_types_that_skops_does_not_trust_need_a_pin_or_a_trusted_place(folder: Path, name: str) -> None:
    node = PROBA | {"uri": f"{name}.skops", "method": "predict", "outputs": {"y": "double"}}
    if name == "forest":
        node["outputs"] = {"y": "int64"}
    assert problems_of(folder, FOUR, node, trust=False) == [("untrusted_file", "uri")]
    x = iris().x
    wanted = skops_io.load(
        folder / f"{name}.skops", trusted=skops_io.get_untrusted_types(file=folder / f"{name}.skops")
    ).predict(x)
    np.testing.assert_array_equal(load_node(folder, FOUR, node)({"x": x})["y"], wanted)
    pin = hashlib.sha256((folder / f"{name}.skops").read_bytes()).hexdigest()
    pinned = check_node(folder, FOUR, node | {"sha256": pin}, trust=False)
    np.testing.assert_array_equal(KINDS["model", "sklearn"].load(pinned)({"x": x})["y"], wanted)


def test_a_file_that_was_changed_after_the_check_gets_no_more_trust(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "named.skops"
    copy.write_bytes((folder / "named.skops").read_bytes())
    checked = check_node(tmp_path, FOUR, PROBA, trust=False)
    copy.write_bytes((folder / "own.skops").read_bytes())
    with pytest.raises(InvalidEnsemble, match=r"\[untrusted_file\] nodes\.node\.uri: .*holds types"):
        KINDS["model", "sklearn"].load(checked)


@pytest.mark.parametrize(
    ("inputs", "change", "problem"),
    [
        ({"x": "array<double>[5]"}, {}, ("signature_mismatch", "inputs")),
        (FOUR, {"outputs": {"p": "array<double>[4]"}}, ("signature_mismatch", "outputs.p")),
        (FOUR, {"labels": ["setosa", "virginica", "versicolor"]}, ("signature_mismatch", "labels")),
        (FOUR, {"method": "predict", "outputs": {"p": "double"}}, ("signature_mismatch", "outputs.p")),
        (FOUR, {"uri": "line.skops", "method": "predict"}, ("missing_type", "outputs.p")),
    ],
)
def test_what_does_not_agree_is_found_before_it_is_loaded(
    folder: Path, inputs: dict[str, str], change: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems_of(folder, inputs, PROBA | change)


@pytest.mark.parametrize("schema", [None, b"", b"[]", b"{}", b'{"__class__": "Pipeline", "content": 1}'])
def test_what_is_no_skops_file_has_no_header(tmp_path: Path, schema: bytes | None) -> None:
    path = tmp_path / "model.skops"
    if schema is None:
        path.write_text("no zip")
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("schema.json", schema)
    with pytest.raises(ModelFormatError):
        read_header(str(path))
    assert ("bad_model_file", "uri") in problems_of(tmp_path, FOUR, PROBA | {"uri": "model.skops"})


def test_later_steps_say_nothing_of_the_features(tmp_path: Path) -> None:
    rows = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]})
    union = FeatureUnion([("one", StandardScaler()), ("two", StandardScaler())])
    for first, wanted in ((union, (None, None)), ("passthrough", (2, ("a", "b")))):
        skops_io.dump(make_pipeline(first, LinearRegression()).fit(rows, [1, 2, 3]), tmp_path / "m.skops")
        header = read_header(str(tmp_path / "m.skops"))
        assert (header.features, header.names) == wanted
