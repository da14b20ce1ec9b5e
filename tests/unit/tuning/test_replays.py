"""Replayed answers are those of a run: behind conditions, with several cut-offs, and with a condition for positive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from beam_ensembles.cli.main import main
from beam_ensembles.local.ensemble import Ensemble
from beam_ensembles.tuning.choosing import MOST_VALUES

HEAD = """\
ensemble: cells
inputs: {x: "array<double>[8]"}
nodes:
  cheap: {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [x], outputs: {p: "array<double>[2]"}}
"""
VOTES = """\
  guess: {combine: soft_vote, labels: [bad, good], inputs: [p], outputs: {guess: {from: label}, confidence: double}}
  costly:
    model: sklearn
    uri: forest.joblib
    method: predict_proba
    when: "confidence < ${cut}"
    inputs: [x]
    outputs: {q: "array<double>[2]"}
  second:
    combine: soft_vote
    when: "confidence < ${cut}"
    labels: [bad, good]
    inputs: [q]
    outputs: {second: {from: label}}
  answer: {combine: first, inputs: [second, guess], outputs: {kind: string}}
outputs: [kind, confidence]
parameters: {cut: 0.6}
"""
BOUNDS = """\
  sure: {apply: sql, select: {cheap_p: "p[2]", unsure: "p[2] BETWEEN ${low} AND ${high}"}}
  costly:
    model: sklearn
    uri: forest.joblib
    method: predict_proba
    when: unsure
    inputs: [x]
    outputs: {q: "array<double>[2]"}
  score: {apply: sql, select: {answer: "COALESCE(q[2], cheap_p)"}}
  decide:
    route: switch
    cases: [{when: "answer >= ${block}", arm: block}]
    default: accept
    outputs: {decision: string}
outputs: [answer, decision, unsure]
parameters: {low: 0.3, high: 0.7, block: 0.5}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("replays")
    x, y = make_classification(1800, 8, n_informative=6, class_sep=1.2, flip_y=0.02, random_state=1)
    joblib.dump(LogisticRegression().fit(x[:800], y[:800]), made / "linear.joblib")
    joblib.dump(RandomForestClassifier(20, random_state=0).fit(x[:800], y[:800]), made / "forest.joblib")
    (made / "votes.yaml").write_text(HEAD + VOTES)
    (made / "bounds.yaml").write_text(HEAD + BOUNDS)
    rows = {
        "x": x[800:].tolist(),
        "kind_of": ["good" if one else "bad" for one in y[800:]],
        "is_good": [bool(one) for one in y[800:]],
    }
    pq.write_table(pa.table(rows), made / "rows.parquet")
    return made


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MOST_VALUES, 1, 21)
    monkeypatch.setitem(MOST_VALUES, 2, 5)


def tuned(capsys: pytest.CaptureFixture[str], folder: Path, file: str, label: str, *options: str) -> Any:
    call = ["tune", str(folder / file), "--input", str(folder / "rows.parquet"), "--label", label, "--json"]
    assert main([*call, *options]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def answers(folder: Path, file: str, data: Any) -> tuple[Any, Any]:
    """Returns what a run answers on the rows held out with the tuned numbers, and the rows."""
    table = pq.read_table(folder / "rows.parquet")
    given = {one["name"]: repr(one["after"]) for one in data["numbers"]}
    held = np.sort(np.random.default_rng(0).permutation(1000)[:300])
    table = table.take(pa.array(held))
    return Ensemble(folder / file, parameters=given).predict(table), table


def test_a_vote_behind_a_condition(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tuned(capsys, folder, "votes.yaml", "kind_of", "--target", "agreement with second >= 0.9")
    scored, table = answers(folder, "votes.yaml", data)
    measures = {one["name"]: one["after"] for one in data["measures"]}
    right = [
        one == other
        for one, other in zip(scored["kind"].to_pylist(), table["kind_of"].to_pylist(), strict=True)
    ]
    assert measures["accuracy"] == pytest.approx(np.mean(right), abs=1e-12)
    sent = np.array(scored["confidence"]) < data["numbers"][0]["after"]
    assert measures["rows sent to 'costly'"] == pytest.approx(sent.mean(), abs=1e-12)
    forest = (
        joblib.load(folder / "forest.joblib").predict_proba(np.array(table["x"].to_pylist())).argmax(axis=1)
    )
    agrees = np.array(scored["kind"].to_pylist()) == np.array(["bad", "good"])[forest]
    assert measures["agreement with second"] == pytest.approx(agrees.mean(), abs=1e-12)


def test_two_cut_offs_are_planned(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--cut", "low", "--cut", "high", "--target", "agreement with costly >= 0.9")
    data = tuned(capsys, folder, "bounds.yaml", "is_good", *options)
    assert data["notes"] == ["210 of the rows to tune on chose the order in which values are tested"]
    assert data["targets"][0]["rows"] == 490
    scored, _ = answers(folder, "bounds.yaml", data)
    measures = {one["name"]: one["after"] for one in data["measures"]}
    assert measures["rows sent to 'costly'"] == pytest.approx(
        np.mean(scored["unsure"].to_pylist()), abs=1e-12
    )


def test_what_counts_as_positive(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--cut", "block", "--target", "recall >= 0.9", "--positive-if", "decision = 'block'")
    data = tuned(capsys, folder, "bounds.yaml", "is_good", *options)
    scored, table = answers(folder, "bounds.yaml", data)
    good = np.array(table["is_good"].to_pylist())
    blocked = np.array(scored["decision"].to_pylist()) == "block"
    measures = {one["name"]: one["after"] for one in data["measures"]}
    assert measures["recall"] == pytest.approx(blocked[good].mean(), abs=1e-12)
    assert measures["precision"] == pytest.approx(good[blocked].mean(), abs=1e-12)
    assert data["targets"][0]["at_least"] >= 0.9


def test_a_model_that_reads_what_a_cut_off_changes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEAD + (
        '  flag: {apply: sql, select: {flag: "CASE WHEN p[2] > ${cut} THEN 1.0 ELSE 0.0 END"}}\n'
        "  meta: {model: sklearn, uri: linear.joblib, inputs: [flag], outputs: {answer: int64}}\n"
        "parameters: {cut: 0.5}\n"
    )
    (folder / "meta.yaml").write_text(text)
    call = ["tune", str(folder / "meta.yaml"), "--input", str(folder / "rows.parquet"), "--label", "is_good"]
    assert main([*call, "--target", "accuracy >= 0.9"]) == 1
    assert "'meta' reads 'flag', which depends on ${cut}" in capsys.readouterr().err


def test_a_file_without_cut_offs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEAD + '  sure: {apply: sql, select: {answer: "p[2]"}}\n'
    (folder / "plain.yaml").write_text(text)
    call = ["tune", str(folder / "plain.yaml"), "--input", str(folder / "rows.parquet"), "--label", "is_good"]
    assert main([*call, "--target", "accuracy >= 0.9"]) == 1
    assert "the file has no cut-off to tune" in capsys.readouterr().err
