"""``tune --weights``: the weights lose least, and what the holdout shows is what the models answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, mean_squared_error

from beam_ensembles.cli.main import main
from beam_ensembles.tuning.fitting_weights import least_log_loss, least_squares

NAMES = list(load_iris().target_names)
VOTE = """\
ensemble: flowers
inputs: {x: "array<double>[4]"}
nodes:
  linear: {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [x], outputs: {one: "array<double>[3]"}}
  forest: {model: sklearn, uri: forest.joblib, method: predict_proba, inputs: [x], outputs: {two: "array<double>[3]"}}
  vote:                       # who counts how much
    combine: soft_vote
    inputs: [one, two]
    labels: [setosa, versicolor, virginica]
    weights: [1,   3]         # by eye
    outputs: {species: {from: label}}
"""
MEAN = """\
{"ensemble": "prices", "inputs": {"x": "array<double>[4]"}, "nodes": {
  "linear": {"model": "sklearn", "uri": "linear.joblib", "inputs": ["x"], "outputs": {"one": "double"}},
  "forest": {"model": "sklearn", "uri": "forest.joblib", "inputs": ["x"], "outputs": {"two": "double"}},
  "mean": {"combine": "weighted_mean", "inputs": ["one", "two"], "weights": [1, 1], "outputs": {"price": "double"}}}}
"""


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flowers")
    x, y = load_iris(return_X_y=True)
    random = np.random.default_rng(0)
    x, y = np.repeat(x, 3, axis=0) + random.normal(0, 0.6, (450, 4)), np.repeat(y, 3)
    joblib.dump(LogisticRegression(max_iter=500).fit(x[::3], y[::3]), folder / "linear.joblib")
    joblib.dump(RandomForestClassifier(9, random_state=0).fit(x[::3], y[::3]), folder / "forest.joblib")
    (folder / "flowers.yaml").write_text(VOTE)
    rows = np.flatnonzero(np.arange(450) % 3)
    pq.write_table(
        pa.table({"x": x[rows].tolist(), "kind": [NAMES[at] for at in y[rows]]}), folder / "rows.parquet"
    )
    return folder


def test_the_weights_of_a_vote(flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuned = flowers / "tuned.yaml"
    call = [
        "tune",
        str(flowers / "flowers.yaml"),
        "--input",
        str(flowers / "rows.parquet"),
        "--label",
        "kind",
    ]
    assert main([*call, "--weights", "vote", "--json", "-o", str(tuned)]) == 0, capsys.readouterr().err
    data = json.loads(capsys.readouterr().out)
    weights = np.array([one["after"] for one in data["numbers"]])
    assert weights.sum() == pytest.approx(1)
    table = pq.read_table(flowers / "rows.parquet")
    x, kind = np.array(table["x"].to_pylist()), np.array(table["kind"].to_pylist())
    members = [joblib.load(flowers / f"{name}.joblib").predict_proba(x) for name in ("linear", "forest")]
    order = np.random.default_rng(0).permutation(300)
    held, used = np.sort(order[:90]), np.sort(order[90:])

    def loss(weights: Any, which: Any) -> float:
        shares = np.clip(np.average(members, axis=0, weights=weights)[which], 1e-15, 1)
        return float(log_loss(kind[which], shares, labels=NAMES))

    (measured, accuracy) = data["measures"]
    assert measured["name"] == "log loss"
    assert measured["before"] == pytest.approx(loss([0.25, 0.75], held))
    assert measured["after"] == pytest.approx(loss(weights, held))
    best = min(loss([one, 1 - one], used) for one in np.linspace(0, 1, 201))
    assert loss(weights, used) == pytest.approx(best, abs=1e-5)
    found = np.array(NAMES)[np.average(members, axis=0, weights=weights)[held].argmax(axis=1)]
    assert accuracy["after"] == pytest.approx((found == kind[held]).mean())
    new = [one for one in tuned.read_text().splitlines() if one not in VOTE.splitlines()]
    assert new == [f"    weights: [{weights[0]:g},   {weights[1]:g}]         # by eye"]


def test_the_weights_of_a_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = make_regression(900, 4, noise=20, random_state=0)
    y = y + 8 * x[:, 0] ** 2
    models = {"linear": LinearRegression(), "forest": RandomForestRegressor(20, random_state=0)}
    for name, model in models.items():
        joblib.dump(model.fit(x[:300], y[:300]), tmp_path / f"{name}.joblib")
    (tmp_path / "prices.json").write_text(MEAN)
    pq.write_table(pa.table({"x": x[300:].tolist(), "sold": y[300:]}), tmp_path / "rows.parquet")
    call = [
        "tune",
        str(tmp_path / "prices.json"),
        "--input",
        str(tmp_path / "rows.parquet"),
        "--label",
        "sold",
    ]
    assert main([*call, "--weights", "mean", "--json", "--write"]) == 0, capsys.readouterr().err
    data = json.loads(capsys.readouterr().out)
    weights = [one["after"] for one in data["numbers"]]
    answers = np.stack([model.predict(x[300:]) for model in models.values()])
    held = np.sort(np.random.default_rng(0).permutation(600)[:180])
    error = mean_squared_error(y[300:][held], np.average(answers, axis=0, weights=weights)[held])
    assert data["measures"][0]["after"] == pytest.approx(error)
    assert json.loads((tmp_path / "prices.json").read_text())["nodes"]["mean"]["weights"] == weights


def test_folds_hold_out_every_row_once(flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, input_ = str(flowers / "flowers.yaml"), str(flowers / "rows.parquet")
    call = ["tune", file, "--input", input_, "--label", "kind", "--weights", "vote", "--folds", "4"]
    assert main([*call, "--json", "--seed", "3"]) == 0, capsys.readouterr().err
    data = json.loads(capsys.readouterr().out)
    assert (data["tuned_on"], data["held_out"], data["folds"]) == (300, 300, 4)
    table = pq.read_table(input_)
    x, kind = np.array(table["x"].to_pylist()), np.array(table["kind"].to_pylist())
    members = np.stack(
        [joblib.load(flowers / f"{name}.joblib").predict_proba(x) for name in ("linear", "forest")], axis=2
    )
    true = np.array([NAMES.index(one) for one in kind])
    shares = members[np.arange(300), true]
    every = [one["after"] for one in data["numbers"]]
    assert every == pytest.approx(least_log_loss(shares), abs=1e-6), "the file gets those of all rows"
    found = np.zeros((300, 3))
    for part in np.array_split(np.random.default_rng(3).permutation(300), 4):
        rest = np.setdiff1d(np.arange(300), part)
        found[part] = members[part] @ least_log_loss(shares[rest])
    assert data["measures"][0]["after"] == pytest.approx(
        log_loss(kind, np.clip(found, 1e-15, 1), labels=NAMES), abs=1e-6
    )
    assert data["measures"][1]["after"] == pytest.approx((found.argmax(axis=1) == true).mean())
    assert main([*call, "--seed", "3"]) == 0
    assert "300 of " in (said := capsys.readouterr().out)
    assert "held out in 4 folds (seed 3)" in said


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (
            ["--weights", "vote", "--folds", "16"],
            1,
            "300 rows are too few for 16 folds, each of which needs 20",
        ),
        (["--weights", "vote", "--folds", "400"], 1, "ask for 15 at most"),
        (["--weights", "vote", "--folds", "1"], 2, "'1' is not a whole number from 2"),
        (["--weights", "vote", "--folds", "3", "--holdout", "0.3"], 2, "give one of them"),
        (
            ["--target", "accuracy >= 0.9", "--folds", "3"],
            2,
            "none the one that is written; with few labels, hold",
        ),
    ],
)
def test_folds_that_cannot_be(
    flowers: Path, capsys: pytest.CaptureFixture[str], flags: list[str], code: int, said: str
) -> None:
    call = [
        "tune",
        str(flowers / "flowers.yaml"),
        "--input",
        str(flowers / "rows.parquet"),
        "--label",
        "kind",
    ]
    try:
        found = main([*call, *flags])
    except SystemExit as ended:
        found = int(ended.code or 0)
    assert found == code
    assert said in capsys.readouterr().err


def test_a_member_that_only_guesses_gets_no_weight() -> None:
    random = np.random.default_rng(0)
    good = random.uniform(0.6, 1, 500)
    weights = least_log_loss(np.stack([good, np.full(500, 1 / 3)], axis=1))
    assert weights.tolist() == [1.0, 0.0]
    true = random.normal(size=500)
    noisy = np.stack([true + random.normal(0, 1, 500), true + random.normal(0, 1, 500)], axis=1)
    assert least_squares(noisy, true) == pytest.approx([0.5, 0.5], abs=0.1)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ("linear", "'linear' is model: sklearn, which has no weights to tune"),
        ("vot", "the file has no node 'vot'; did you mean 'vote'"),
    ],
)
def test_a_node_without_weights(
    flowers: Path, capsys: pytest.CaptureFixture[str], node: str, said: str
) -> None:
    call = [
        "tune",
        str(flowers / "flowers.yaml"),
        "--input",
        str(flowers / "rows.parquet"),
        "--label",
        "kind",
    ]
    assert main([*call, "--weights", node]) == 1
    assert said in capsys.readouterr().err
