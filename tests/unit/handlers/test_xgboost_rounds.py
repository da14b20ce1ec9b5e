"""Models that stopped early: every class answers with the rounds that XGBoost's scikit-learn classes use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from beam_ensembles.cli.main import main
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.handlers.xgboost.header import read_header
from tests.support.nodes import check_node, load_node

INPUTS = {"x": "array<double>[4]"}
BOOSTERS = ("gbtree", "dart", "gblinear")


def node(uri: str, **more: Any) -> dict[str, Any]:
    return {"model": "xgboost", "uri": uri, "inputs": ["x"], "outputs": {"p": None}} | more


def rows() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Features [300, 4] and a class that they tell only roughly, [300]."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(300, 4))
    return x, (x[:, 0] + draw.normal(size=300) * 2 > 0).astype(int)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a classifier of each booster that stopped early, as JSON and UBJSON, and one that did not."""
    folder, (x, y) = tmp_path_factory.mktemp("early"), rows()
    for booster in BOOSTERS:
        model = xgboost.XGBClassifier(
            n_estimators=30, early_stopping_rounds=9, learning_rate=0.5, booster=booster, n_jobs=1
        )
        model.fit(x[:200], y[:200], eval_set=[(x[200:], y[200:])], verbose=False)
        assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
        model.save_model(folder / f"{booster}.json")
        model.save_model(folder / f"{booster}.ubj")
    xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(x, y).save_model(folder / "whole.json")
    return folder


def trained(path: Path) -> xgboost.XGBClassifier:
    model = xgboost.XGBClassifier()
    model.load_model(path)
    return model


@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize("booster", BOOSTERS)
def test_a_booster_answers_as_the_trained_object_does(folder: Path, booster: str, ending: str) -> None:
    x, _ = rows()
    answer = load_node(folder, INPUTS, node(f"{booster}.{ending}"))({"x": x})["p"]
    wanted = trained(folder / f"{booster}.{ending}").predict_proba(x)[:, 1]
    np.testing.assert_array_equal(answer, wanted)


@pytest.mark.parametrize("rounds", [[0, 2], [0, 0], [1, 4]])
def test_the_nodes_own_range_counts(folder: Path, rounds: list[int]) -> None:
    x, _ = rows()
    args = {"iteration_range": rounds}
    answer = load_node(folder, INPUTS, node("gbtree.json", inference_args=args))({"x": x})["p"]
    wanted = xgboost.Booster(model_file=folder / "gbtree.json").predict(
        xgboost.DMatrix(x), iteration_range=tuple(rounds)
    )
    np.testing.assert_array_equal(answer, wanted)


def test_other_arguments_leave_the_rounds_as_they_are(folder: Path) -> None:
    x, _ = rows()
    args = {"output_margin": True}
    declared = node("gbtree.json", inference_args=args, outputs={"p": "float"})
    answer = load_node(folder, INPUTS, declared)({"x": x})["p"]
    np.testing.assert_array_equal(answer, trained(folder / "gbtree.json").predict(x, output_margin=True))


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_the_header_has_the_best_iteration(folder: Path, ending: str) -> None:
    assert (
        read_header(str(folder / f"gbtree.{ending}")).best_iteration
        == trained(folder / f"gbtree.{ending}").best_iteration
    )
    assert read_header(str(folder / f"gblinear.{ending}")).best_iteration is None, "its rounds are one model"


def test_the_header_of_a_model_that_did_not_stop_has_none(folder: Path) -> None:
    assert read_header(str(folder / "whole.json")).best_iteration is None
    assert check_node(folder, INPUTS, node("whole.json")).notes == ()


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_people_are_told_which_rounds_are_used(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    best = trained(folder / "gbtree.json").best_iteration
    nodes = {
        "early": node(str(folder / "gbtree.json"), outputs={"a": None}),
        "cut": node(
            str(folder / "gbtree.json"), outputs={"b": None}, inference_args={"iteration_range": [0, 2]}
        ),
    }
    file = tmp_path / "early.json"
    file.write_text(json.dumps({"ensemble": "early", "inputs": INPUTS, "nodes": nodes}), encoding="utf-8")
    assert main([verb, str(file)]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert f"{best + 1} boosting rounds, up to its best_iteration {best}" in said
    assert "boosting rounds 0 to 2, the last excluded ('iteration_range')" in said


@pytest.mark.parametrize("model_class", ["Booster", "XGBClassifier"])
@pytest.mark.parametrize("best", ["30", "many", "-1"])
def test_a_best_iteration_that_the_model_does_not_have_is_found_at_load(
    folder: Path, tmp_path: Path, best: str, model_class: str
) -> None:
    booster = xgboost.Booster(model_file=folder / "gbtree.json")
    booster.set_attr(best_iteration=best)
    booster.save_model(tmp_path / "wrong.json")
    with pytest.raises(InvalidEnsemble, match=rf"'best_iteration' is '{best}', the model has \d+ rounds"):
        load_node(tmp_path, INPUTS, node("wrong.json", model_class=model_class))
