"""XGBoost models that know their features: names, categories, base margins, ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import xgboost

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.xgboost.header import read_header
from beam_ensembles.runtime.kinds import KINDS
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


def test_the_worker_compares_the_names_once_more(folder: Path) -> None:
    checked = check_node(folder, PAIR, node("numbers.json", inputs={"size": "size", "count": "count"}))
    inputs = {name: parse_type(type_) for name, type_ in PAIR.items()}
    other = CheckedNode(checked.spec, inputs, checked.outputs, str(folder / "goods.json"))
    with pytest.raises(InvalidEnsemble, match="the model needs its features color too"):
        KINDS[("model", "xgboost")].load(other)
