"""Listed columns and a model that knows its features by name: in whose order they are taken, and what is said of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost
import joblib
import lightgbm
import numpy as np
import pandas
import pytest
import skops.io
import xgboost
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support.features import order_taken
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.model import Inputs, NodeSpec
from beam_ensembles.types import parse_type
from tests.support.nodes import load_node

NAMES = ("height", "width", "depth")


class Ratio:
    """A step as people write one: it reads a DataFrame by name, and notes nothing of its features."""

    def fit(self, rows: Any, _: Any = None) -> Ratio:
        """Returns itself."""
        return self

    def transform(self, rows: Any) -> Any:
        """Adds a column."""
        return rows.assign(ratio=rows["height"] / rows["width"])


def frame() -> pandas.DataFrame:
    return pandas.DataFrame(np.random.default_rng(1).normal(size=(40, 3)), columns=list(NAMES))


def save_joblib(path: Path) -> None:
    joblib.dump(LinearRegression().fit(frame(), frame() @ [1.0, 10.0, 100.0]), path)


def save_skops(path: Path) -> None:
    skops.io.dump(LinearRegression().fit(frame(), frame() @ [1.0, 10.0, 100.0]), path)


def save_xgboost(path: Path) -> None:
    xgboost.XGBRegressor(n_estimators=20).fit(frame(), frame() @ [1.0, 10.0, 100.0]).save_model(path)


SAVED: dict[str, tuple[str, Callable[[Path], None]]] = {
    "m.joblib": ("sklearn", save_joblib),
    "m.skops": ("sklearn", save_skops),
    "m.json": ("xgboost", save_xgboost),
}


def warnings_of(folder: Path, uri: str, columns: list[str], caplog: pytest.LogCaptureFixture) -> list[str]:
    """Returns what is warned of when a node is checked and loaded."""
    kind, save = SAVED[uri]
    save(folder / uri)
    listed = ", ".join(columns)
    text = (
        f"ensemble: e\ninputs: {{{', '.join(f'{one}: double' for one in sorted(columns))}}}\nnodes:\n"
        f"  n: {{model: {kind}, uri: {uri}, inputs: [{listed}], outputs: {{y: float}}}}\n"
    )
    with caplog.at_level(logging.WARNING, "beam_ensembles"):
        graph = check_text(text, KINDS, Files(str(folder), (str(folder),), is_own=True))
        KINDS["model", kind].load(graph.nodes[0])
    logged = [one.getMessage() for one in caplog.records if one.name.startswith("beam_ensembles")]
    return [*map(str, graph.warnings), *logged]


@pytest.mark.parametrize("uri", SAVED)
def test_other_names_go_by_position_with_both_orders_shown_once(
    uri: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (warning,) = warnings_of(tmp_path, uri, ["w", "h", "d"], caplog)
    assert "nodes.n.inputs: no column has the name of a feature" in warning
    assert "taken in their order: w, h, d for the model's height, width, depth" in warning
    assert "inputs: {height: w, width: h, depth: d}" in warning


@pytest.mark.parametrize("uri", SAVED)
@pytest.mark.parametrize("columns", [["depth", "height", "width"], ["hei_ght", "Width", "dep"]])
def test_names_of_the_features_or_like_them_are_not_warned_of(
    uri: str, columns: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert not warnings_of(tmp_path, uri, columns, caplog)


def node(columns: dict[str, str], ports: tuple[str, ...] | None = None) -> CheckedNode:
    spec = NodeSpec("n", "model", "sklearn", Inputs(tuple(columns), ports), (), {})
    return CheckedNode(
        spec, KINDS[spec.kind, spec.target], {name: parse_type(type_) for name, type_ in columns.items()}, {}
    )


def test_names_alike_in_another_order_show_what_is_meant() -> None:
    said = order_taken(
        node({"petal_width": "double", "sepal_width": "double"}), ("sepal width (cm)", "petal width (cm)")
    )
    assert said is not None
    said = order_taken(node({"Income": "double", "Age": "double"}), ("age", "income"))
    assert said is not None
    assert "inputs: {income: Income, age: Age}" in said


@pytest.mark.parametrize(
    ("one", "names"),
    [
        (node({"x": "array<double>[2]"}), ("a", "b")),
        (node({"x": "double", "y": "double"}), None),
        (node({"x": "double"}), ("a",)),
        (node({"x": "double", "y": "double"}, ("a", "b")), ("a", "b")),
        (node({"sepal_length": "double", "b": "double"}), ("Sepal length (cm)", "B")),
    ],
)
def test_where_nothing_can_be_compared_nothing_is_said(
    one: CheckedNode, names: tuple[str, ...] | None
) -> None:
    assert order_taken(one, names) is None


@pytest.mark.parametrize("uri", SAVED)
def test_some_names_that_match_take_all_by_name(uri: str, tmp_path: Path) -> None:
    kind, save = SAVED[uri]
    save(tmp_path / uri)
    given = {"model": kind, "uri": uri, "outputs": {"y": "float"}}
    inputs = {"width": "double", "height": "double", "d": "double"}
    with pytest.raises(InvalidEnsemble, match="no feature 'd'"):
        load_node(tmp_path, inputs, given | {"inputs": ["width", "height", "d"]})


@pytest.mark.parametrize("uri", SAVED)
def test_a_name_beside_a_tensor_must_stand_in_its_place(uri: str, tmp_path: Path) -> None:
    kind, save = SAVED[uri]
    save(tmp_path / uri)
    given: dict[str, Any] = {"model": kind, "uri": uri, "outputs": {"y": "float"}}
    inputs = {"two": "array<double>[2]", "depth": "double", "height": "double"}
    load_node(tmp_path, inputs, given | {"inputs": ["two", "depth"]})
    load_node(tmp_path, inputs, given | {"inputs": ["height", "two"]})
    for wrong in (["depth", "two"], ["two", "height"]):
        with pytest.raises(InvalidEnsemble, match="stands where the model has the feature"):
            load_node(tmp_path, inputs, given | {"inputs": wrong})


@pytest.mark.parametrize("uri", sorted(SAVED))
def test_a_mapping_to_a_model_that_knows_no_names_is_refused(uri: str, tmp_path: Path) -> None:
    model: Any = xgboost.XGBRegressor(n_estimators=2) if uri == "m.json" else LinearRegression()
    model.fit(frame().to_numpy(), frame() @ [1.0, 10.0, 100.0])
    {
        "m.joblib": joblib.dump,
        "m.skops": skops.io.dump,
        "m.json": lambda model, path: model.save_model(path),
    }[uri](model, tmp_path / uri)
    node = {"model": SAVED[uri][0], "uri": uri, "outputs": {"y": "double"}}
    inputs = dict.fromkeys(NAMES, "double")
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(tmp_path, inputs, node | {"inputs": {name: name for name in reversed(NAMES)}})
    (problem,) = caught.value.problems
    assert problem.code == "signature_mismatch"
    assert "list the columns in the order of training: inputs: [depth, width, height]" in problem.message
    load_node(tmp_path, inputs, node | {"inputs": list(NAMES)})


def saved(folder: Path, kind: str, *, knows_names: bool) -> tuple[Any, str]:
    """Returns a model of a kind that was trained on three features, and the name of its file in a folder."""
    rows, numbers = frame(), frame() @ [1.0, 10.0, 100.0]
    given = rows if knows_names else rows.to_numpy()
    if kind == "sklearn":
        model: Any = LinearRegression().fit(given, numbers)
        joblib.dump(model, folder / "m.joblib")
        return model, "m.joblib"
    if kind == "xgboost":
        model = xgboost.XGBRegressor(n_estimators=20).fit(given, numbers)
        model.save_model(folder / "m.json")
        return model, "m.json"
    if kind == "lightgbm":
        model = lightgbm.LGBMRegressor(n_estimators=5, min_child_samples=2, verbose=-1).fit(given, numbers)
        model.booster_.save_model(folder / "m.txt")
        return model, "m.txt"
    model = catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False).fit(given, numbers)
    model.save_model(str(folder / "m.cbm"))
    return model, "m.cbm"


TABULAR = ["sklearn", "xgboost", "lightgbm", "catboost"]


@pytest.mark.parametrize("kind", TABULAR)
def test_a_column_listed_twice_is_two_features_by_position(kind: str, tmp_path: Path) -> None:
    model, uri = saved(tmp_path, kind, knows_names=False)
    given = {"model": kind, "uri": uri, "outputs": {"y": "double"}}
    inputs = dict.fromkeys(("a", "b"), "double")
    member = load_node(tmp_path, inputs, given | {"inputs": ["a", "b", "a"]})
    columns = {name: frame()[of].to_numpy() for name, of in (("a", "height"), ("b", "width"))}
    rows = np.stack([columns["a"], columns["b"], columns["a"]], axis=1)
    np.testing.assert_allclose(member(columns)["y"], model.predict(rows), rtol=1e-5)


@pytest.mark.parametrize("kind", TABULAR)
@pytest.mark.parametrize("knows_names", [True, False])
def test_a_column_listed_twice_by_mistake_is_refused(kind: str, knows_names: bool, tmp_path: Path) -> None:
    _, uri = saved(tmp_path, kind, knows_names=knows_names)
    given = {"model": kind, "uri": uri, "outputs": {"y": "double"}}
    twice = ["height", "height", "width", "depth"]
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(tmp_path, dict.fromkeys(NAMES, "double"), given | {"inputs": twice})
    (problem,) = caught.value.problems
    assert problem.code == "signature_mismatch"
    assert (
        "'height' is listed 2 times" if knows_names else "the columns of the node hold 4"
    ) in problem.message


@pytest.mark.parametrize("is_mapping", [True, False])
@pytest.mark.parametrize("is_wrapped", [True, False])
def test_a_step_of_ones_own_gets_a_frame_in_the_order_of_training(
    is_mapping: bool, is_wrapped: bool, tmp_path: Path
) -> None:
    model = make_pipeline(Ratio(), LinearRegression())
    if is_wrapped:
        model = GridSearchCV(model, {}, cv=2)
    joblib.dump(model.fit(frame(), frame() @ [1.0, 10.0, 100.0]), tmp_path / "m.joblib")
    turned = ["depth", "height", "width"]
    node = {
        "model": "sklearn",
        "uri": "m.joblib",
        "inputs": {name: name for name in turned} if is_mapping else turned,
        "outputs": {"y": "double"},
    }
    member = load_node(tmp_path, dict.fromkeys(NAMES, "double"), node)
    answer = member({name: frame()[name].to_numpy() for name in turned})["y"]
    np.testing.assert_allclose(answer, model.predict(frame()))


def test_categories_behind_a_step_of_ones_own_are_refused_in_an_array(tmp_path: Path) -> None:
    rows = frame().assign(depth=pandas.Categorical([3, 5] * 20))
    trees = xgboost.XGBRegressor(n_estimators=2, enable_categorical=True)
    joblib.dump(make_pipeline(Ratio(), trees).fit(rows, [1, 2] * 20), tmp_path / "m.joblib")
    node = {"model": "sklearn", "uri": "m.joblib", "inputs": ["a", "b", "c"], "outputs": {"y": "double"}}
    with pytest.raises(
        InvalidEnsemble, match="its XGBRegressor was trained on a DataFrame's categories"
    ) as caught:
        load_node(tmp_path, dict.fromkeys("abc", "double"), node)
    assert [problem.code for problem in caught.value.problems] == ["bad_model_file"]
