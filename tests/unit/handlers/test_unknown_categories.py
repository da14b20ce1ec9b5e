"""Categories that a model was not trained on: each row has an error of its own, in words of this project's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import Columns, validity
from beam_ensembles.handlers.onnx.encoders import Sources, inputs_of_silent_mappers
from beam_ensembles.registry import KINDS
from tests.support.models import write_graph
from tests.support.nodes import load_node

TYPES = {"colour": "string", "doors": "int64", "n": "double"}
COLOURS = ("blue", "green", "red")
DOORS = (2, 3, 5)


def frame(rows: int = 90) -> pandas.DataFrame:
    draw = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "colour": pandas.Series(draw.choice(COLOURS, rows), dtype=object),
            "doors": draw.choice(DOORS, rows),
            "n": draw.normal(size=rows),
        }
    )


def target(told: pandas.DataFrame) -> Any:
    return (told["colour"] == "red") * 3.0 + told["n"] + told["doors"]


def batch(told: pandas.DataFrame) -> Columns:
    return {name: told[name].to_numpy(dtype=object if name == "colour" else None) for name in told.columns}


def node(uri: str, model: str, **more: Any) -> dict[str, Any]:
    output = {"y": "float" if model == "xgboost" else "double"}
    return {"model": model, "uri": uri, "inputs": list(TYPES), "outputs": output} | more


@pytest.fixture(scope="module")
def boosted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an XGBoost model of two categories, some of them missing in training; and one with ''."""
    folder, told = tmp_path_factory.mktemp("boosted"), frame()
    typed = told.astype({"doors": "category"})
    typed["colour"] = told["colour"].mask(told.index % 10 == 0).astype("category")
    model = xgboost.XGBRegressor(n_estimators=8, enable_categorical=True, n_jobs=1)
    model.fit(typed, target(told)).save_model(folder / "m.json")
    empty = pandas.DataFrame({"colour": pandas.Series(["", "a", "b"] * 30, dtype="category")})
    model.fit(empty, np.arange(90.0) % 3).save_model(folder / "empty.json")
    return folder


@pytest.mark.parametrize("model_class", ["Booster", "XGBRegressor"])
@pytest.mark.parametrize("args", [{}, {"output_margin": True}], ids=str)
def test_each_row_of_an_unknown_category_fails_alone(
    boosted: Path, model_class: str, args: dict[str, Any]
) -> None:
    told = frame(8)
    given = told.copy()
    given.loc[1, "colour"], given.loc[3, "colour"], given.loc[4, "doors"] = "", "violet", 4
    member = load_node(
        boosted, TYPES, node("m.json", "xgboost", model_class=model_class, inference_args=args)
    )
    calls: list[int] = []
    outputs, faults = run_split(lambda one: (calls.append(1), member(one))[1], batch(given), 8)
    wanted = xgboost.XGBRegressor()
    wanted.load_model(boosted / "m.json")
    typed = told.assign(
        colour=pandas.Categorical(told["colour"], COLOURS), doors=pandas.Categorical(told["doors"], DOORS)
    )
    good = [at for at in range(8) if at not in (1, 3, 4)]
    np.testing.assert_array_equal(outputs["y"], wanted.predict(typed)[good])
    assert {at: error.code for at, error in faults.items()} == dict.fromkeys((1, 3, 4), "unknown_category")
    assert faults[1].message == (
        "'colour' is '' (an empty text), a category that the model does not know; it knows 'blue', 'green', 'red'"
    )
    assert faults[3].message.startswith("'colour' is 'violet', a category")
    assert faults[4].message == "'doors' is 4, a category that the model does not know; it knows 2, 3, 5"
    assert len(calls) == 1, "the rows are known without trying halves"


def test_codes_are_the_models_own_whatever_is_in_the_batch(boosted: Path) -> None:
    told = frame(30)
    member = load_node(boosted, TYPES, node("m.json", "xgboost"))
    whole = member(batch(told))["y"]
    for colour in COLOURS:
        some = told[told["colour"] == colour]
        np.testing.assert_array_equal(member(batch(some))["y"], whole[some.index])
    np.testing.assert_array_equal(member(batch(told[::-1]))["y"], whole[::-1])


def test_an_empty_text_may_be_a_category(boosted: Path) -> None:
    told = node("empty.json", "xgboost", inputs=["colour"])
    answer = load_node(boosted, TYPES, told)({"colour": np.array(["", "b", "a"], dtype=object)})["y"]
    wanted = xgboost.XGBRegressor()
    wanted.load_model(boosted / "empty.json")
    typed = pandas.DataFrame({"colour": pandas.Categorical(["", "b", "a"])})
    np.testing.assert_array_equal(answer, wanted.predict(typed))


def test_a_null_is_missing_and_never_a_category(boosted: Path) -> None:
    member = load_node(boosted, TYPES | {"colour": "string?"}, node("m.json", "xgboost", nulls="missing"))
    told = batch(frame(3))
    given = told | {validity("colour"): np.array([True, False, True])}
    wanted = xgboost.XGBRegressor()
    wanted.load_model(boosted / "m.json")
    typed = frame(3).assign(doors=pandas.Categorical(told["doors"], DOORS))
    typed["colour"] = pandas.Categorical(typed["colour"].mask([False, True, False]), COLOURS)
    np.testing.assert_array_equal(member(given)["y"], wanted.predict(typed))


@pytest.mark.parametrize(
    "wrap", [lambda model: model, lambda model: GridSearchCV(model, {"ridge__alpha": [1.0]}, cv=2)]
)
@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()], ids=str)
def test_an_encoder_names_column_value_and_categories(tmp_path: Path, encoder: Any, wrap: Any) -> None:
    told = frame()
    columns = make_column_transformer(("passthrough", ["n"]), (encoder, ["doors", "colour"]))
    model = wrap(make_pipeline(columns, Ridge())).fit(told, target(told))
    joblib.dump(model, tmp_path / "m.joblib")
    given = told[:8].copy()
    given.loc[1, "colour"], given.loc[3, "colour"], given.loc[4, "doors"] = "", "violet", 4
    member, calls = load_node(tmp_path, TYPES, node("m.joblib", "sklearn")), []
    outputs, faults = run_split(lambda one: (calls.append(1), member(one))[1], batch(given), 8)
    assert len(calls) == 1, "the rows are known without trying halves"
    np.testing.assert_array_equal(outputs["y"], model.predict(told[:8].drop(index=[1, 3, 4])))
    assert {at: error.message for at, error in faults.items()} == {
        1: "'colour' is '' (an empty text), a category that the model does not know; it knows 'blue', 'green', 'red'",
        3: "'colour' is 'violet', a category that the model does not know; it knows 'blue', 'green', 'red'",
        4: "'doors' is 4, a category that the model does not know; it knows 2, 3, 5",
    }
    assert {error.code for error in faults.values()} == {"unknown_category"}


@pytest.mark.parametrize("inputs", [["one", "two"], ["one"]], ids=str)
def test_a_model_of_arrays_names_the_nodes_column(tmp_path: Path, inputs: list[str]) -> None:
    texts = frame()[["colour"] * len(inputs)].to_numpy()
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(texts, texts[:, 0] == "red")
    joblib.dump(model, tmp_path / "m.joblib")
    told = node("m.joblib", "sklearn", inputs=inputs, outputs={"y": "boolean"})
    member = load_node(tmp_path, {"one": "string", "two": "string"}, told)
    given = {name: np.array(["red", "violet", "blue"], dtype=object) for name in inputs}
    outputs, faults = run_split(member, given, 3)
    np.testing.assert_array_equal(outputs["y"], [True, False])
    assert faults[1].code == "unknown_category"
    assert faults[1].message.startswith("'one' is 'violet'")


def test_a_long_list_of_categories_is_shortened(tmp_path: Path) -> None:
    names = [f"city-{at:03}" for at in range(500)]
    told = pandas.DataFrame({"colour": pandas.Series(names * 2, dtype="category")})
    model = xgboost.XGBRegressor(n_estimators=1, enable_categorical=True, n_jobs=1)
    model.fit(told, np.arange(1000.0)).save_model(tmp_path / "m.json")
    member = load_node(tmp_path, TYPES, node("m.json", "xgboost", inputs=["colour"]))
    _, faults = run_split(member, {"colour": np.array(["x" * 10_000], dtype=object)}, 1)
    assert "'city-000', " in faults[0].message
    assert faults[0].message.endswith("and 488 more")
    assert len(faults[0].message) < 400


def test_a_text_that_a_step_before_changes_is_told_by_the_step_that_fails(tmp_path: Path) -> None:
    lower = FunctionTransformer(_lowered, feature_names_out="one-to-one")
    columns = make_column_transformer((make_pipeline(lower, OneHotEncoder()), ["colour"]))
    model = make_pipeline(columns, Ridge()).fit(frame()[["colour"]], target(frame()))
    joblib.dump(model, tmp_path / "m.joblib")
    member = load_node(tmp_path, TYPES, node("m.joblib", "sklearn", inputs=["colour"]))
    given = {"colour": np.array(["RED", "Violet", "blue"], dtype=object)}
    outputs, faults = run_split(member, given, 3)
    np.testing.assert_array_equal(outputs["y"], model.predict(pandas.DataFrame({"colour": ["red", "blue"]})))
    assert list(faults) == [1]
    assert faults[1].message.startswith("'colour' is 'violet', a category that the model does not know")


def _lowered(told: pandas.DataFrame) -> pandas.DataFrame:
    return told.map(str.lower)


def test_a_null_that_an_encoder_does_not_know_is_called_so(tmp_path: Path) -> None:
    model = make_pipeline(OneHotEncoder(), Ridge()).fit(frame()[["colour"]], target(frame()))
    joblib.dump(model, tmp_path / "m.joblib")
    told = node("m.joblib", "sklearn", inputs=["colour"], nulls="missing")
    given = {
        "colour": np.array(["red", None], dtype=object), validity("colour"): np.array([True, False])
    }  # fmt: skip
    _, faults = run_split(load_node(tmp_path, {"colour": "string?"}, told), given, 2)
    assert faults[1].message.startswith("'colour' is null, a category that the model does not know")


@pytest.mark.parametrize("is_listed", [True, False])
def test_an_encoder_of_a_graph_names_column_value_and_categories(tmp_path: Path, is_listed: bool) -> None:
    strict = {"cats_strings": ["red", "blue"], "zeros": 0}
    nodes = [
        ("Identity", ["colours"], ["same"], {}),
        ("OneHotEncoder", ["same"], ["hot"], {"domain": "ai.onnx.ml", **strict}),
    ]
    write_graph(tmp_path / "m.onnx", nodes, [("colours", "STRING", ["N"])], [("hot", "FLOAT", ["N", 2])])
    inputs = ["colour"] if is_listed else {"colours": "colour"}
    member = load_node(tmp_path, TYPES, node("m.onnx", "onnx", inputs=inputs, outputs={"hot": {}}))
    outputs, faults = run_split(member, {"colour": np.array(["red", "", "blue"], dtype=object)}, 3)
    np.testing.assert_array_equal(outputs["hot"], [[1, 0], [0, 1]])
    assert {at: (error.code, error.message) for at, error in faults.items()} == {
        1: (
            "unknown_category",
            "'colour' is '' (an empty text), a category that the model does not know; it knows 'red', 'blue'",
        )
    }


@pytest.mark.parametrize(
    ("attributes", "is_warned"), [({}, True), ({"default_int64": -1}, False), ({"default_int64": 7}, False)]
)
def test_a_graph_that_scores_what_it_does_not_know_is_warned_of(
    tmp_path: Path, attributes: dict[str, int], is_warned: bool
) -> None:
    codes = {"keys_strings": ["red", "blue"], "values_int64s": [0, 1], "domain": "ai.onnx.ml", **attributes}
    nodes = [("Identity", ["colours"], ["same"], {}), ("LabelEncoder", ["same"], ["code"], codes)]
    port = ("colours", "STRING", ["N"])
    write_graph(tmp_path / "m.onnx", nodes, [port], [("code", "INT64", ["N"])])
    told = node("m.onnx", "onnx", inputs={"colours": "colour"}, outputs={"code": {}})
    text = json.dumps({"ensemble": "test", "inputs": TYPES, "nodes": {"node": told}})
    warnings = check_text(text, KINDS, Files(str(tmp_path), readable=("/",))).warnings
    assert [(one.code, one.path) for one in warnings] == (
        [("unchecked_categories", "nodes.node.uri")] if is_warned else []
    )
    assert not warnings or "its input colours that" in warnings[0].message


def test_a_graph_that_turns_its_own_numbers_into_texts_is_not(tmp_path: Path) -> None:
    names = {"keys_int64s": [0, 1], "values_strings": ["no", "yes"], "domain": "ai.onnx.ml"}
    nodes = [("Abs", ["x"], ["kind"], {}), ("LabelEncoder", ["kind"], ["name"], names)]
    write_graph(tmp_path / "m.onnx", nodes, [("x", "INT64", ["N"])], [("name", "STRING", ["N"])])
    assert inputs_of_silent_mappers(str(tmp_path / "m.onnx")) == ()


def test_each_operator_before_an_encoder_is_looked_at_once() -> None:
    """A result that was made of itself was followed once more for each encoder: 272 kB took 29 seconds."""
    ways: dict[str, tuple[str, int | None]] = {f"n{at}": (f"n{at + 1}", None) for at in range(1000)}
    ways |= {"n1000": ("n0", 3), "a": ("b", 1), "b": ("c", 2), "c": ("x", None)}
    looked_at: list[str] = []

    def behind(name: str) -> tuple[str, int | None] | None:
        looked_at.append(name)
        return ways.get(name)

    sources = Sources(behind)
    assert all(sources.of(f"n{at}")[0] in ways for at in range(1001))
    assert len(looked_at) == 1001
    assert [sources.of(name) for name in "xcba"] == [("x", None), ("x", None), ("x", 2), ("x", 2)]
