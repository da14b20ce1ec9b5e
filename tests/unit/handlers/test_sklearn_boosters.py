"""XGBoost's and LightGBM's models in joblib files: what is refused when they are loaded, and LightGBM's categories.

LightGBM is not among the libraries of the tests: stand-ins have what is read of its models.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pandas
import pytest
import xgboost
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from beam_ensembles.errors import InvalidEnsemble, NodeError, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.sklearn.boosters import (
    keep_categories_behind_steps,
    refuse_boosters,
    with_categories,
)
from beam_ensembles.handlers.support.member import BeamMember
from beam_ensembles.handlers.support.unknown_categories import FailsUnknownCategories, UnknownCategories
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.model import NodeSpec
from tests.support.nodes import load_node

NODE = CheckedNode(
    NodeSpec("n", "model", "sklearn", None, (), {}), KINDS["model", "sklearn"], {}, {}, uri="m.joblib"
)
INPUTS = {"size": "double", "color": "string"}
MODEL = {"model": "sklearn", "uri": "m.joblib", "inputs": ["size", "color"], "outputs": {"y": "double"}}


def frame() -> pandas.DataFrame:
    return pandas.DataFrame(
        {"size": [1.0, 2.0, 3.0, 4.0], "color": pandas.Categorical(["red", "green", "red", "blue"])}
    )


@pytest.mark.parametrize("is_booster", [True, False])
def test_xgboost_models_that_fail_on_every_row_are_refused_when_loaded(
    tmp_path: Path, is_booster: bool
) -> None:
    model = xgboost.XGBRegressor(n_estimators=2, enable_categorical=True).fit(frame(), [1, 2, 3, 4])
    joblib.dump(model.get_booster() if is_booster else model, tmp_path / "m.joblib")
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(tmp_path, INPUTS, MODEL)
    (problem,) = caught.value.problems
    assert problem.code == "bad_model_file"
    assert "save it with save_model('model.json') and use 'model: xgboost'" in problem.message
    assert is_booster or "'model_class: XGBRegressor'" in problem.message


def test_xgboost_behind_a_step_takes_no_number_for_the_place_of_a_category(tmp_path: Path) -> None:
    levels = frame().assign(color=pandas.Categorical([30, 10, 30, 20]))
    trees = xgboost.XGBRegressor(n_estimators=2, enable_categorical=True)
    joblib.dump(make_pipeline(FunctionTransformer(), trees).fit(levels, [1, 2, 3, 4]), tmp_path / "m.joblib")
    with pytest.raises(InvalidEnsemble, match=r"the steps before it give 'color' as int64; put an encoder"):
        load_node(tmp_path, INPUTS | {"color": "int64"}, MODEL)
    made = FunctionTransformer(lambda rows: rows.astype({"color": levels["color"].dtype}))
    model = make_pipeline(made, trees).fit(levels, [1, 2, 3, 4])
    expected = model.predict(levels)
    keep_categories_behind_steps(model, pandas)
    np.testing.assert_array_equal(model.predict(levels.astype({"color": "int64"})), expected)


def test_xgboosts_classes_without_categories_answer_as_they_do(tmp_path: Path) -> None:
    numbers = frame().assign(color=[3.0, 1.0, 2.0, 0.0])
    model = xgboost.XGBRegressor(n_estimators=5).fit(numbers, [1, 2, 3, 4])
    joblib.dump(model, tmp_path / "m.joblib")
    node = MODEL | {"inputs": {"color": "c", "size": "s"}}
    member = load_node(tmp_path, {"c": "double", "s": "double"}, node)
    answer = member({"c": numbers["color"].to_numpy(), "s": numbers["size"].to_numpy()})["y"]
    np.testing.assert_array_equal(answer, model.predict(numbers).astype(np.float64))


class Booster:
    """Stands in for LightGBM's."""

    __module__ = "lightgbm.basic"

    def __init__(self, places: str = "1", kept: list[list[Any]] | None = None) -> None:
        self.pandas_categorical = [["blue", "green", "red"]] if kept is None else kept
        self._places = places

    def model_to_string(self, num_iteration: int) -> str:
        """Returns the end of LightGBM's text."""
        return f"tree\n\nparameters:\n[boosting: gbdt]\n[categorical_feature: {self._places}]\nend of parameters\n"


def read(columns: Columns) -> pandas.DataFrame:
    return pandas.DataFrame(dict(columns))


def test_a_model_of_lightgbm_gets_its_own_categories() -> None:
    made = with_categories(Booster(), read, pandas)(
        {"size": np.ones(3), "color": np.array(["red", None, "blue"], object)}
    )
    assert made["color"].cat.categories.tolist() == ["blue", "green", "red"]
    assert made["color"].cat.codes.tolist() == [2, -1, 0]
    numbers = with_categories(Booster("0", [[8, 9, 10]]), read, pandas)({"level": np.array([9.0, 8.0])})
    assert numbers["level"].cat.codes.tolist() == [1, 0]


class Trees(BaseEstimator):  # type: ignore[misc]
    """Stands in for LightGBM's class; answers the place of each category."""

    __module__ = "lightgbm.sklearn"
    booster_ = Booster()

    def fit(self, rows: pandas.DataFrame, _: Any = None) -> Trees:
        """Learns nothing."""
        self.n_features_in_ = len(rows.columns)
        return self

    def predict(self, X: pandas.DataFrame) -> np.ndarray:
        """Asks the other method as LightGBM's does."""
        return self.predict_proba(X=X)

    def predict_proba(self, X: pandas.DataFrame) -> np.ndarray:
        """Returns the codes of the second column."""
        return X.iloc[:, 1].cat.codes.to_numpy()


def test_a_model_of_lightgbm_behind_a_step_gets_its_own_categories() -> None:
    model = make_pipeline(FunctionTransformer(), Trees()).fit(frame())
    keep_categories_behind_steps(model, pandas)
    rows = frame().assign(color=["red", None, "blue", "green"])
    assert model.predict(rows).tolist() == [2, -1, 0, 1]
    assert rows["color"].dtype == object
    assert model.predict(frame()).tolist() == [2, 1, 2, 0]
    with pytest.raises(UnknownCategories) as caught:
        model.predict(rows.assign(color=["red", "violet", "blue", ""]))
    assert list(caught.value.faults) == [1, 3]


@pytest.mark.parametrize("value", ["violet", ""])
def test_a_category_that_is_none_of_its_own_is_the_rows_error(value: str) -> None:
    with pytest.raises(
        NodeError, match=r"a category that the model does not know; it knows 'blue', 'green', 'red'"
    ) as caught:
        with_categories(Booster(), read, pandas)({"size": np.ones(1), "color": np.array([value], object)})
    assert caught.value.code == "unknown_category"


def test_categories_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(InvalidEnsemble, match="put an encoder before it"):
        refuse_boosters(NODE, Booster("0,1"))
    refuse_boosters(NODE, Booster())
    refuse_boosters(NODE, Booster(kept=[]))
    assert with_categories(Booster(kept=[]), read, pandas) is read


def test_only_its_own_row_fails_where_the_model_is_called_once_per_row() -> None:
    class Handler:
        def run_inference(self, batch: list[Any], *_: Any) -> list[Any]:
            return [SimpleNamespace(inference=batch[0])]

    loaded = BeamMember(
        Handler(),
        None,
        {},
        read=with_categories(Booster(), read, pandas),
        write=lambda frame, _: {"y": frame["color"].cat.codes.to_numpy()},
        per_row=True,
    )
    member = FailsUnknownCategories(loaded, lambda *_: {})
    with pytest.raises(SomeFailed) as caught:
        member({"size": np.ones(3), "color": np.array(["red", "violet", "blue"], object)})
    assert list(caught.value.faults) == [1]
    assert caught.value.columns["y"].tolist() == [2, 0]
