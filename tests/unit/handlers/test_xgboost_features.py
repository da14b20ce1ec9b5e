"""XGBoost models that know their features: names, categories, base margins, ranking."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import xgboost

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
)
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.xgboost.header import read_header
from beam_ensembles.handlers.xgboost.trees import TreeError, check_model
from beam_ensembles.registry import KINDS
from beam_ensembles.types import parse_type
from tests.support.nodes import check_node, load_node, problems_of, types_of

GOODS = {"size": "double", "color": "string", "count": "int64"}
PAIR = {"size": "double", "count": "int64"}
ROWS = 80
SMALL: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "enable_categorical": True}


def goods() -> pandas.DataFrame:
    """Rows of a category, a number and a count."""
    rng = np.random.default_rng(3)
    return pandas.DataFrame(
        {
            "color": pandas.Categorical(rng.choice(["red", "green", "blue"], ROWS)),
            "size": rng.normal(size=ROWS),
            "count": rng.integers(10, 14, ROWS),
        }
    )


def columns_of(frame: pandas.DataFrame) -> dict[str, np.ndarray[Any, Any]]:
    """The frame's columns as a batch holds them."""
    return {
        name: frame[name].to_numpy(dtype=object if name == "color" else None).copy() for name in frame.columns
    }


def node(uri: str, **more: Any) -> dict[str, Any]:
    return {"model": "xgboost", "uri": uri, "inputs": ["x"], "outputs": {"y": None}} | more


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models of ``goods``."""
    folder, frame = tmp_path_factory.mktemp("goods"), goods()
    y = frame["color"].eq("red").to_numpy() * 2.0 + frame["size"].to_numpy()
    level = np.digitize(y, [0, 1.5])
    numbers = frame[["size", "count"]]
    counted = numbers.astype({"count": "category"})
    codes = np.c_[frame["color"].cat.codes.to_numpy(), frame["size"].to_numpy()]
    coded = xgboost.DMatrix(codes, y, feature_types=["c", "q"], enable_categorical=True)
    models: dict[str, Any] = {
        "goods": xgboost.XGBRegressor(**SMALL).fit(frame, y),
        "numbers": xgboost.XGBRegressor(**SMALL).fit(numbers, y),
        "levels": xgboost.XGBClassifier(**SMALL).fit(numbers, level),
        "counted": xgboost.XGBRegressor(**SMALL).fit(counted, y),
        "coded": xgboost.train({"nthread": 1}, coded, 4),
        "lines": xgboost.XGBRegressor(booster="gblinear", n_estimators=4).fit(numbers, y),
        "ranks": xgboost.XGBRanker(**SMALL).fit(numbers, level, qid=np.repeat(np.arange(8), 10)),
    }
    for name, model in models.items():
        model.save_model(folder / f"{name}.json")
        model.save_model(folder / f"{name}.ubj")
    return folder


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_the_header_names_the_features_and_their_types(folder: Path, ending: str) -> None:
    header = read_header(str(folder / f"goods.{ending}"))
    assert (header.names, header.types) == (("color", "size", "count"), ("c", "float", "int"))
    coded = read_header(str(folder / f"coded.{ending}"))
    assert (coded.names, coded.types) == (None, ("c", "q"))


def test_names_that_are_not_all_in_what_was_read_are_not_known(tmp_path: Path) -> None:
    names = [f"feature-{'x' * 3_000}-{at}" for at in range(400)]
    x = np.zeros((3, 400))
    model = xgboost.train({"nthread": 1}, xgboost.DMatrix(x, x[:, 0], feature_names=names), 1)
    for ending in ("json", "ubj"):
        model.save_model(tmp_path / f"wide.{ending}")
        header = read_header(str(tmp_path / f"wide.{ending}"))
        assert (header.features, header.names) == (400, None)


@pytest.mark.parametrize("model_class", ["Booster", "XGBRegressor"])
@pytest.mark.parametrize(
    "inputs", [["size", "count", "color"], {"count": "count", "color": "color", "size": "size"}]
)
def test_categories_are_the_models_own_whatever_is_in_the_batch(
    folder: Path, model_class: str, inputs: Any
) -> None:
    frame = goods()
    member = load_node(folder, GOODS, node("goods.json", model_class=model_class, inputs=inputs))
    wanted = xgboost.XGBRegressor(**SMALL)
    wanted.load_model(folder / "goods.json")
    np.testing.assert_array_equal(member(columns_of(frame))["y"], wanted.predict(frame), strict=True)
    reds = frame[frame["color"] == "red"]
    np.testing.assert_array_equal(member(columns_of(reds))["y"], wanted.predict(frame)[reds.index])


@pytest.mark.parametrize("element", ["int32", "int64"])
def test_whole_numbers_may_be_categories(folder: Path, element: str) -> None:
    frame = goods()[["size", "count"]]
    inputs = {"size": "double", "count": element}
    answer = load_node(folder, inputs, node("counted.json", inputs=["size", "count"]))(
        columns_of(frame.astype({"count": element}))
    )["y"]
    wanted = xgboost.Booster(model_file=folder / "counted.json")
    matrix = xgboost.DMatrix(frame.astype({"count": "category"}), enable_categorical=True)
    np.testing.assert_array_equal(answer, wanted.predict(matrix))


def test_categories_of_a_matrix_are_the_numbers_that_they_were(folder: Path) -> None:
    frame = goods()
    x = np.c_[frame["color"].cat.codes.to_numpy(), frame["size"].to_numpy()]
    answer = load_node(folder, {"x": "array<double>[2]"}, node("coded.json"))({"x": x})["y"]
    matrix = xgboost.DMatrix(x, feature_types=["c", "q"], enable_categorical=True)
    np.testing.assert_array_equal(
        answer, xgboost.Booster(model_file=folder / "coded.json").predict(matrix), strict=True
    )


@pytest.mark.parametrize(
    ("uri", "model_class"),
    [
        ("numbers.json", "Booster"),
        ("numbers.ubj", "XGBRegressor"),
        ("lines.json", "Booster"),
        ("lines.json", "XGBRegressor"),
        ("ranks.json", "Booster"),
        ("ranks.ubj", "XGBRanker"),
    ],
)
def test_named_features_are_taken_by_name(folder: Path, uri: str, model_class: str) -> None:
    frame = goods()[["size", "count"]]
    loaded = xgboost.Booster(model_file=folder / uri)
    swapped = node(uri, model_class=model_class, inputs=["count", "size"])
    assert types_of(folder, PAIR, swapped) == {"y": "float"}
    answer = load_node(folder, PAIR, swapped)(columns_of(frame))["y"]
    np.testing.assert_array_equal(answer, loaded.predict(xgboost.DMatrix(frame)), strict=True)


@pytest.mark.parametrize("model_class", ["Booster", "XGBRegressor"])
@pytest.mark.parametrize("args", [{}, {"output_margin": True}])
def test_base_margins_are_a_port_beside_the_features(
    folder: Path, model_class: str, args: dict[str, Any]
) -> None:
    frame, prior = goods()[["size", "count"]], np.linspace(-3, 3, ROWS)
    wanted = xgboost.Booster(model_file=folder / "numbers.json").predict(
        xgboost.DMatrix(frame, base_margin=prior)
    )
    inputs = {"size": "size", "count": "count", "base_margin": "prior"}
    named = node("numbers.json", model_class=model_class, inputs=inputs, inference_args=args)
    named["outputs"] = {"y": "float"}
    answer = load_node(folder, PAIR | {"prior": "double"}, named)(columns_of(frame) | {"prior": prior})["y"]
    np.testing.assert_array_equal(answer, wanted, strict=True)
    whole = named | {"inputs": {"base_margin": "prior", "data": "x"}}
    columns = {"x": frame.to_numpy(), "prior": prior}
    member = load_node(folder, {"x": "array<double>[2]", "prior": "double"}, whole)
    np.testing.assert_array_equal(member(columns)["y"], wanted, strict=True)


def test_a_model_of_classes_takes_a_base_margin_for_each(folder: Path) -> None:
    frame, prior = goods()[["size", "count"]], np.random.default_rng(0).normal(size=(ROWS, 3))
    inputs = {"size": "size", "count": "count", "base_margin": "prior"}
    named = node("levels.json", inputs=inputs)
    types = PAIR | {"prior": "array<double>[3]"}
    answer = load_node(folder, types, named)(columns_of(frame) | {"prior": prior})["y"]
    booster = xgboost.Booster(model_file=folder / "levels.json")
    wanted = booster.predict(xgboost.DMatrix(frame, base_margin=prior))
    np.testing.assert_array_equal(answer, wanted, strict=True)
    assert problems_of(folder, PAIR | {"prior": "double"}, named) == [
        ("signature_mismatch", "inputs.base_margin")
    ]
    assert problems_of(folder, PAIR | {"prior": "string"}, named) == [("type_mismatch", "inputs.base_margin")]


@pytest.mark.parametrize(
    ("inputs", "changed", "problem"),
    [
        (GOODS, node("goods.json", inputs=["size", "color"]), ("signature_mismatch", "inputs")),
        (
            GOODS,
            node("goods.json", inputs={"colour": "color", "size": "size", "count": "count"}),
            ("signature_mismatch", "inputs.colour"),
        ),
        (GOODS, node("numbers.json", inputs=["size", "color"]), ("type_mismatch", "inputs[1]")),
        (
            {"color": "double", "size": "string", "count": "int64"},
            node("goods.json", inputs=["color", "size", "count"]),
            ("signature_mismatch", "inputs"),
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    folder: Path, inputs: dict[str, str], changed: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems_of(folder, inputs, changed)


@pytest.mark.parametrize(
    ("types", "text"),
    [
        ({"color": "string", "size": "double"}, "keeps no categories"),
        ({"size": "double", "count": "double"}, "the feature 'count' is a category"),
    ],
)
def test_what_the_model_cannot_take_as_a_category_is_refused_when_it_is_loaded(
    folder: Path, types: dict[str, str], text: str
) -> None:
    uri = "coded.json" if "color" in types else "counted.json"
    with pytest.raises(InvalidEnsemble, match=text):
        load_node(folder, types, node(uri, inputs=list(types)))


def frame_of(writer: str, names: list[str]) -> Any:
    """A table of one category, as a library has it."""
    codes = [at % len(names) for at in range(ROWS)]
    texts = [names[code] for code in codes]
    if writer == "polars":
        return polars.DataFrame({"city": texts}, schema={"city": polars.Enum(names)})
    if writer == "pyarrow":
        typed = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(codes, pyarrow.int32()), pyarrow.array(names)
        )
        return pyarrow.table({"city": typed})
    return pandas.DataFrame({"city": pandas.Categorical(texts, pandas.Index(names, dtype=writer))})


def model_of(frame: Any, **parameters: Any) -> xgboost.Booster:
    matrix = xgboost.DMatrix(frame, np.arange(ROWS) % 3, enable_categorical=True)
    return xgboost.train({"nthread": 1} | parameters, matrix, 2)


def kept_in(model: xgboost.Booster) -> Any:
    return json.loads(model.save_raw("json"))["learner"]["gradient_booster"]["model"]["cats"]


def test_xgboost_itself_writes_other_names_of_pandas_as_it_writes_these_of_pyarrow() -> None:
    shifted = kept_in(model_of(frame_of("object", ["Köln", "L", "M", "S"])))
    assert shifted == kept_in(model_of(frame_of("pyarrow", ["Köl", "n", "L", "M"])))


@pytest.mark.parametrize("writer", ["object", "string[pyarrow]", "polars", "pyarrow"])
@pytest.mark.parametrize(
    "names", [["Köln", "L", "M"], ["cafe", "café"], ["東京", "大阪", "x"], ["a", "b", "😀"]]
)
def test_names_that_are_not_all_ascii_are_refused(tmp_path: Path, writer: str, names: list[str]) -> None:
    for booster, ending in itertools.product(("gbtree", "dart"), ("json", "ubj")):
        model = model_of(frame_of(writer, names), booster=booster)
        model.save_model(tmp_path / f"m.{ending}")
        told = "the categories of the feature 'city' are not all ASCII"
        with pytest.raises(ModelFormatError, match=told):
            read_header(str(tmp_path / f"m.{ending}"))
        with pytest.raises(TreeError, match=told):
            check_model((tmp_path / f"m.{ending}").read_bytes())


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_names_behind_the_part_that_is_read_first_are_refused_when_the_model_is_loaded(
    tmp_path: Path, ending: str
) -> None:
    names = [f"{at}{'x' * 30_000}" for at in range(40)] + ["Köln"]
    model_of(frame_of("object", names)).save_model(tmp_path / f"m.{ending}")
    assert read_header(str(tmp_path / f"m.{ending}")).names == ("city",)
    with pytest.raises(InvalidEnsemble, match="not all ASCII"):
        load_node(tmp_path, {"city": "string"}, node(f"m.{ending}", inputs=["city"]))


@pytest.mark.parametrize("writer", ["object", "string[pyarrow]", "polars", "pyarrow"])
def test_names_in_ascii_are_right_whoever_wrote_them(tmp_path: Path, writer: str) -> None:
    names = ["Koeln", "", "L"]
    frame = frame_of(writer, names)
    model = model_of(frame)
    model.save_model(tmp_path / "m.ubj")
    answer = load_node(tmp_path, {"city": "string"}, node("m.ubj", inputs=["city"]))
    city = np.array([names[at % 3] for at in range(ROWS)], object)
    wanted = model.predict(xgboost.DMatrix(frame, enable_categorical=True))
    np.testing.assert_array_equal(answer({"city": city})["y"], wanted)


def test_numbers_beyond_ascii_are_no_names(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"city": pandas.Categorical([200, -5, 1000] * 20)})
    matrix = xgboost.DMatrix(frame, np.arange(60) % 3, enable_categorical=True)
    xgboost.train({"nthread": 1}, matrix, 2).save_model(tmp_path / "m.ubj")
    answer = load_node(tmp_path, {"city": "int64"}, node("m.ubj", inputs=["city"]))
    assert len(answer({"city": np.array([200, -5, 1000])})["y"]) == 3


@pytest.mark.parametrize("model_class", ["XGBClassifier", "XGBRFClassifier"])
@pytest.mark.parametrize(
    ("labels", "parameters", "answer", "chances"),
    [
        (1, {}, "int64", "array<float>[2]"),
        (1, {"objective": "binary:logitraw"}, "int64", "array<float>[2]"),
        (1, {"objective": "multi:softmax", "num_class": 2}, "int64", "array<float>[2]"),
        (1, {"objective": "multi:softprob", "num_class": 2}, "array<double>[2]", "array<float>[2]"),
        (2, {}, "array<double>[2]", "array<float>[2]"),
        (3, {"multi_strategy": "multi_output_tree"}, "array<double>[3]", "array<float>[3]"),
    ],
)
def test_a_classifier_gives_what_is_inferred(
    tmp_path: Path, model_class: str, labels: int, parameters: dict[str, Any], answer: str, chances: str
) -> None:
    x = np.random.default_rng(5).normal(size=(ROWS, 3))
    target = (x[:, :labels] > 0).astype(int)
    model = getattr(xgboost, model_class)(n_estimators=2, n_jobs=1, **parameters)
    model.fit(x, target if labels > 1 else target[:, 0]).save_model(tmp_path / "m.ubj")
    for method, type_ in (("predict", answer), ("predict_proba", chances)):
        given = node("m.ubj", model_class=model_class, method=method)
        assert types_of(tmp_path, {"x": "array<double>[3]"}, given) == {"y": type_}
        found = load_node(tmp_path, {"x": "array<double>[3]"}, given)({"x": x})["y"]
        np.testing.assert_allclose(found, getattr(model, method)(x), rtol=1e-6)


def test_the_worker_compares_the_names_once_more(folder: Path) -> None:
    checked = check_node(folder, PAIR, node("numbers.json", inputs={"size": "size", "count": "count"}))
    inputs = {name: parse_type(type_) for name, type_ in PAIR.items()}
    other = CheckedNode(checked.spec, checked.kind, inputs, checked.outputs, str(folder / "goods.json"))
    with pytest.raises(InvalidEnsemble, match="the model was trained on more features; add: color"):
        KINDS[("model", "xgboost")].load(other)
