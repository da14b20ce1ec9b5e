"""``nulls: missing``: models that were trained for missing values answer as their libraries do on the same frame."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeRegressor

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import Columns, validity
from beam_ensembles.registry import KINDS
from tests.support.models import write_graph
from tests.support.nodes import check_node, load_node, problems_of

TYPES = {"city": "string?", "age": "int64?", "size": "double?", "weight": "float?", "member": "boolean?"}
NAMES = list(TYPES)
ROWS = 200


def node(uri: str, **more: Any) -> dict[str, Any]:
    return {
        "model": "sklearn", "uri": uri, "nulls": "missing", "inputs": NAMES, "outputs": {"y": "double"}
    } | more  # fmt: skip


def values(rows: int = ROWS) -> dict[str, list[Any]]:
    """Values of each column, of which some are null, in some rows all of them."""
    draw = np.random.default_rng(5)
    columns: dict[str, list[Any]] = {
        "city": draw.choice(["ulm", "bonn", "kiel"], rows).tolist(),
        "age": draw.integers(18, 90, rows).tolist(),
        "size": draw.normal(size=rows).tolist(),
        "weight": draw.normal(size=rows).astype(np.float32).tolist(),
        "member": draw.choice([True, False], rows).tolist(),
    }
    for at, column in enumerate(columns.values()):
        column[at :: 3 + 2 * at] = [None] * len(column[at :: 3 + 2 * at])
    for column in columns.values():
        column[-2:] = [None, None]
    return columns


def frame(missing_text: float | None) -> pandas.DataFrame:
    """The same as a frame of pandas, in which a missing text or truth value is None or NaN."""
    found = {}
    for name, column in values().items():
        is_object = name in ("city", "member")
        marked = [missing_text if one is None and is_object else one for one in column]
        dtype = object if is_object else np.float32 if name == "weight" else np.float64
        found[name] = pandas.Series(marked, dtype=dtype)
    return pandas.DataFrame(found)


def batch(columns: Mapping[str, list[Any]] | None = None) -> Columns:
    """The same as a batch of the runtime; what stands for nulls there means nothing."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    dtypes = {"age": np.int64, "size": np.float64, "weight": np.float32, "member": np.bool_}
    for name, column in (columns or values()).items():
        valid = np.array([one is not None for one in column])
        blank: Any = "ulm" if name == "city" else 17
        filled = [blank if one is None else one for one in column]
        found[name] = np.array(filled, dtype=dtypes.get(name, object))
        if not valid.all():
            found[validity(name)] = valid
    return found


def target() -> np.ndarray[Any, Any]:
    told = frame(None)
    return (told["city"] == "ulm").to_numpy() * 3.0 + told["size"].fillna(0.5).to_numpy()


def encoded(missing: float | None, encoder: Any = None) -> Any:
    """A pipeline that imputes and encodes texts and truth values, and imputes numbers."""
    words = make_pipeline(
        SimpleImputer(missing_values=missing, strategy="constant", fill_value="none"),
        encoder or OneHotEncoder(handle_unknown="ignore"),
    )
    numbers = make_pipeline(SimpleImputer(add_indicator=True))
    return make_pipeline(
        make_column_transformer((words, ["city"]), (numbers, ["age", "size", "weight"])), Ridge()
    )


def saved(folder: Path, model: Any, name: str = "m.joblib") -> str:
    joblib.dump(model, folder / name)
    return name


@pytest.mark.parametrize("missing", [None, np.nan])
def test_an_imputer_gets_the_missing_text_that_it_knows(tmp_path: Path, missing: float | None) -> None:
    told = frame(missing)
    model = encoded(missing).fit(told, target())
    answer = load_node(tmp_path, TYPES, node(saved(tmp_path, model)))(batch())["y"]
    np.testing.assert_array_equal(answer, model.predict(told))


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize(
    "encoder", [OneHotEncoder(), OrdinalEncoder(), OneHotEncoder(handle_unknown="ignore")], ids=str
)
def test_an_encoder_gets_the_missing_category_that_it_knows(
    tmp_path: Path, missing: float | None, encoder: Any
) -> None:
    told = frame(missing)
    numbers = ["age", "size", "weight"]
    model = make_pipeline(
        make_column_transformer((encoder, ["city", "member"]), (SimpleImputer(), numbers)),
        DecisionTreeRegressor(max_depth=4, random_state=0),
    ).fit(told, target())
    answer = load_node(tmp_path, TYPES, node(saved(tmp_path, model)))(batch())["y"]
    np.testing.assert_array_equal(answer, model.predict(told))


def test_texts_of_two_parts_have_a_mark_each(tmp_path: Path) -> None:
    def told(one: list[Any], two: list[Any]) -> pandas.DataFrame:
        return pandas.DataFrame(
            {"one": pandas.Series(one, dtype=object), "two": pandas.Series(two, dtype=object)}
        )

    imputed = make_pipeline(SimpleImputer(missing_values=None, strategy="most_frequent"), OneHotEncoder())
    encoder = make_column_transformer((OneHotEncoder(), ["two"]), (imputed, ["one"]))
    model = make_pipeline(encoder, Ridge())
    model.fit(told(["a", None] * 20, ["b", np.nan, "c", "b"] * 10), np.arange(40.0))
    types = {"one": "string?", "two": "string?"}
    member = load_node(tmp_path, types, node(saved(tmp_path, model), inputs=["two", "one"]))
    given = {
        "one": np.array(["a", None, None], dtype=object),
        "two": np.array([None, "c", None], dtype=object),
        validity("one"): np.array([True, False, False]),
        validity("two"): np.array([False, True, False]),
    }
    wanted = model.predict(told(["a", None, None], [np.nan, "c", np.nan]))
    np.testing.assert_array_equal(member(given)["y"], wanted)


@pytest.mark.parametrize(
    "model",
    [HistGradientBoostingRegressor(max_iter=5), RandomForestRegressor(9, random_state=0)],
    ids=str,
)
def test_numbers_are_nan(tmp_path: Path, model: Any) -> None:
    names = ["age", "size", "weight", "member"]
    matrix = frame(np.nan)[names].to_numpy(dtype=float)
    model.fit(matrix, target())
    answer = load_node(tmp_path, TYPES, node(saved(tmp_path, model), inputs=names))(batch())["y"]
    np.testing.assert_array_equal(answer, model.predict(matrix))


def test_a_row_is_given_alike_whatever_stands_beside_it(tmp_path: Path) -> None:
    model = make_pipeline(FunctionTransformer(_lengths), Ridge()).fit(frame(np.nan), target())
    member = load_node(tmp_path, TYPES, node(saved(tmp_path, model)))
    whole = batch()
    for at in range(12):
        alone = {
            name: column[at : at + 1]
            for name, column in whole.items()
            if not (name.endswith("?") and column[at])
        }
        np.testing.assert_allclose(member(alone)["y"], member(whole)["y"][at : at + 1])


def _lengths(told: pandas.DataFrame) -> np.ndarray[Any, Any]:
    """How long each value is when it is written: as 1 or 1.0, None or nan."""
    return np.array([[len(str(one)) for one in row] for row in told.itertuples(index=False)])


def test_a_whole_tensor_may_be_missing(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(60, 3))
    x[::4] = np.nan
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2).fit(x, draw.normal(size=60))
    valid = np.isfinite(x[:, 0])
    member = load_node(tmp_path, {"x": "array<double>[3]?"}, node(saved(tmp_path, model), inputs=["x"]))
    given = {"x": np.where(valid[:, None], x, 0.0), validity("x"): valid}
    np.testing.assert_array_equal(member(given)["y"], model.predict(x))


def test_whole_numbers_that_no_double_holds_are_not_rounded(tmp_path: Path) -> None:
    model = HistGradientBoostingRegressor(max_iter=5).fit(np.arange(60.0)[:, None], np.arange(60.0))
    member = load_node(tmp_path, {"age": "int64?"}, node(saved(tmp_path, model), inputs=["age"]))
    with pytest.raises(NodeError, match="'age' is beyond 2\\^53") as caught:
        member({"age": np.array([1, 2**53 + 1]), validity("age"): np.array([True, True])})
    assert caught.value.code == "wrong_value"
    hidden = {"age": np.array([1, 2**60]), validity("age"): np.array([True, False])}
    np.testing.assert_array_equal(member(hidden)["y"], model.predict([[1.0], [np.nan]]))


@pytest.mark.parametrize("model_class", ["Booster", "XGBRegressor"])
@pytest.mark.parametrize("args", [{}, {"output_margin": True}], ids=str)
def test_xgboost_takes_missing_numbers_and_categories(
    tmp_path: Path, model_class: str, args: dict[str, Any]
) -> None:
    told = frame(np.nan).astype({"city": "category", "member": float})
    told["age"] = pandas.Series(values()["age"], dtype="Int64").map(lambda one: one // 30, na_action="ignore")
    told["age"] = pandas.Categorical(told["age"].astype(float), categories=[0.0, 1.0, 2.0]).rename_categories(
        [0, 1, 2]
    )
    model = xgboost.XGBRegressor(n_estimators=8, enable_categorical=True, n_jobs=1).fit(told, target())
    model.save_model(tmp_path / "m.json")
    decades = [None if one is None else one // 30 for one in values()["age"]]
    told_node = node(
        "m.json", model="xgboost", model_class=model_class, outputs={"y": "float"}, inference_args=args
    )
    answer = load_node(tmp_path, TYPES, told_node)(batch(values() | {"age": decades}))["y"]
    np.testing.assert_array_equal(answer, model.predict(told))


def test_a_base_margin_cannot_be_missing(tmp_path: Path) -> None:
    model = xgboost.XGBRegressor(n_estimators=1, n_jobs=1).fit(np.eye(4), np.arange(4.0))
    model.save_model(tmp_path / "m.json")
    types = {"x": "array<double>[4]?", "prior": "double?"}
    told = node(
        "m.json", model="xgboost", inputs={"base_margin": "prior", "data": "x"}, outputs={"y": "float"}
    )
    assert problems_of(tmp_path, types, told) == [("type_mismatch", "inputs.base_margin")]
    checked = check_node(tmp_path, types | {"prior": "double"}, told)
    assert checked.takes_nulls


def test_onnx_takes_nan(tmp_path: Path) -> None:
    pair = ("X", "FLOAT", ["N", 2])
    write_graph(tmp_path / "m.onnx", [("IsNaN", ["X"], ["nan"], {})], [pair], [("nan", "BOOL", ["N", 2])])
    told = node("m.onnx", model="onnx", inputs=["size", "age"], outputs={"nan": None})
    answer = load_node(tmp_path, TYPES, told)(batch())["nan"]
    np.testing.assert_array_equal(answer, frame(None)[["size", "age"]].isna())


@pytest.mark.parametrize(
    ("element", "type_"),
    [("STRING", "string?"), ("INT64", "int64?"), ("BOOL", "boolean?"), ("FLOAT", "array<float>?")],
)
def test_onnx_tensors_without_a_missing_value_are_refused(tmp_path: Path, element: str, type_: str) -> None:
    port = ("X", element, ["N", "F"])
    write_graph(tmp_path / "m.onnx", [("Identity", ["X"], ["Y"], {})], [port], [("Y", element, ["N", "F"])])
    told = node("m.onnx", model="onnx", inputs={"X": "x"}, outputs={"y": {"from": "Y"}})
    assert ("type_mismatch", "inputs.X") in problems_of(tmp_path, {"x": type_}, told)


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        ({"a": "age", "c": "city"}, [{"a": 30, "c": None}, {"a": None, "c": "ulm"}]),
        (["city"], [None, "ulm"]),
        (["age"], [30, None]),
        (["age", "size"], [[30.0, 0.5], [np.nan, np.nan]]),
    ],
    ids=str,
)
def test_a_handler_of_ones_own_gets_none_or_nan(tmp_path: Path, inputs: Any, wanted: list[Any]) -> None:
    from beam_ensembles.handlers.python.examples import examples_of

    handler = "tests.support.model_handlers.Echo"
    told = node("", model="python", handler=handler, inputs=inputs)
    del told["uri"]
    checked = check_node(tmp_path, TYPES, told)
    assert checked.takes_nulls
    found = examples_of(checked, batch({"city": [None, "ulm"], "age": [30, None], "size": [0.5, None]}))
    np.testing.assert_equal([one.tolist() if isinstance(one, np.ndarray) else one for one in found], wanted)


def test_fail_is_the_default(tmp_path: Path) -> None:
    model = HistGradientBoostingRegressor(max_iter=5).fit(np.arange(60.0)[:, None], np.arange(60.0))
    told = node(saved(tmp_path, model), inputs=["size"])
    assert check_node(tmp_path, TYPES, told).takes_nulls
    assert not check_node(tmp_path, TYPES, told | {"nulls": "fail"}).takes_nulls
    del told["nulls"]
    assert not check_node(tmp_path, TYPES, told).takes_nulls


KINDS_THAT_TAKE = {"sklearn", "xgboost", "lightgbm", "catboost", "onnx", "python"}


@pytest.mark.parametrize("kind", sorted(KINDS, key=str), ids=str)
def test_every_other_kind_refuses_it(tmp_path: Path, kind: tuple[str, str]) -> None:
    key, target_ = kind
    takes = key == "model" and target_ in KINDS_THAT_TAKE
    told = {key: target_, "nulls": "missing", "inputs": ["size"], "outputs": {"y": "double"}}
    assert (("unknown_option", "nulls") in problems_of(tmp_path, TYPES, told)) is not takes


def test_the_row_that_has_a_null_is_told_both_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from beam_ensembles.cli.main import main

    model = HistGradientBoostingRegressor(max_iter=5).fit(np.arange(60.0)[:, None], np.arange(60.0))
    told = node(saved(tmp_path, model), inputs=["size"]) | {"nulls": "fail"}
    text = {"ensemble": "told", "inputs": {"size": "double?"}, "nodes": {"node": told}}
    (tmp_path / "e.json").write_text(json.dumps(text), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"size": null}\n', encoding="utf-8")
    rows, out = str(tmp_path / "rows.jsonl"), str(tmp_path / "out.jsonl")
    main(["run", str(tmp_path / "e.json"), "--input", rows, "--output", out, "--trust", str(tmp_path)])
    (error,) = map(json.loads, (tmp_path / "out.errors.jsonl").read_text(encoding="utf-8").splitlines())
    assert error["code"] == "null_value"
    assert "'nulls: missing'" in error["msg"]
    assert "'when: size IS NOT NULL'" in error["msg"]
