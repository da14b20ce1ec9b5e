"""``tune`` on cut-offs: targets that hold, cut-offs that cost no call of a model, and what cannot be reached."""

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
from beam_ensembles.tuning.cut_offs import operands

CASCADE = """\
# A cascade, with remarks.
ensemble: cells
parameters:
  cut: 0.6          # how sure is sure
inputs: {x: "array<double>[8]"}
nodes:
  cheap: {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [x], outputs: {p: "array<double>[2]"}}
  sure: {apply: sql, select: {confidence: "GREATEST(p[1], p[2])", cheap_p: "p[2]"}}
  costly:
    model: sklearn
    uri: forest.joblib
    method: predict_proba
    when: "confidence < ${cut}"
    inputs: [x]
    outputs: {q: "array<double>[2]"}
  score: {apply: sql, select: {answer: "COALESCE(q[2], cheap_p)"}}
outputs: [answer, confidence]
"""
ROWS = 1600


@pytest.fixture(scope="module")
def cascade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cascade")
    x, y = make_classification(2400, 8, n_informative=6, class_sep=1.2, flip_y=0.02, random_state=1)
    joblib.dump(LogisticRegression().fit(x[:800], y[:800]), folder / "linear.joblib")
    joblib.dump(RandomForestClassifier(30, random_state=0).fit(x[:800], y[:800]), folder / "forest.joblib")
    (folder / "cells.yaml").write_text(CASCADE)
    rows = {"x": x[800:].tolist(), "good": [bool(one) for one in y[800:]]}
    pq.write_table(pa.table(rows), folder / "rows.parquet")
    return folder


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MOST_VALUES, 1, 41)


def call(folder: Path, *options: str, file: str = "cells.yaml") -> list[str]:
    return ["tune", str(folder / file), "--input", str(folder / "rows.parquet"), "--label", "good", *options]


def found(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> Any:
    assert main(call(folder, *options, "--json")) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_the_answers_of_a_replay_are_those_of_a_run(
    cascade: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = found(capsys, cascade, "--target", "agreement with costly >= 0.97")
    cut = data["numbers"][0]["after"]
    table = pq.read_table(cascade / "rows.parquet")
    order = np.random.default_rng(0).permutation(ROWS)
    held, used = np.sort(order[: round(ROWS * 0.3)]), np.sort(order[round(ROWS * 0.3) :])
    scored = Ensemble(cascade / "cells.yaml", parameters={"cut": repr(cut)}).predict(table)
    x, good = np.array(table["x"].to_pylist()), np.array(table["good"].to_pylist())
    costly = joblib.load(cascade / "forest.joblib").predict_proba(x).argmax(axis=1) == 1
    answers = np.array(scored["answer"]) >= 0.5
    sent = np.array(scored["confidence"]) < cut
    measures = {one["name"]: one["after"] for one in data["measures"]}
    assert measures["agreement with costly"] == pytest.approx((answers == costly)[held].mean(), abs=1e-12)
    assert measures["accuracy"] == pytest.approx((answers == good)[held].mean(), abs=1e-12)
    assert measures["rows sent to 'costly'"] == pytest.approx(sent[held].mean(), abs=1e-12)
    assert 0 < measures["rows sent to 'costly'"] < 1
    (target,) = data["targets"]
    assert (target["right"], target["rows"]) == ((answers == costly)[used].sum(), len(used))
    assert target["at_least"] >= 0.97


def test_the_next_cheaper_cut_off_is_not_certain(cascade: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = found(capsys, cascade, "--target", "agreement with costly >= 0.97")
    certain = [one["is_certified"] for one in data["candidates"]]
    assert certain == sorted(certain, reverse=True)
    assert 1 < sum(certain) < len(certain)
    costs = [one["cost"] for one in data["candidates"] if one["is_certified"]]
    chosen = [one for one in data["candidates"] if one["values"] == [data["numbers"][0]["after"]]]
    assert chosen[0]["cost"] == pytest.approx(min(costs))


def test_write_changes_the_number_only(
    cascade: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned = cascade / "tuned.yaml"
    report = ("--report", str(tmp_path / "report.html"))
    assert main(call(cascade, "--target", "agreement with costly >= 0.97", "-o", str(tuned), *report)) == 0
    assert f"written: {tuned}" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert "Cost against quality" in page
    assert page.count('<circle class="dot l0"') == 1
    assert page.count("(not certain)") >= 1
    old, new = CASCADE.splitlines(), tuned.read_text().splitlines()
    assert [at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one != other] == [3]
    assert new[3].startswith("  cut: 0.")
    assert new[3].endswith("          # how sure is sure")
    assert (cascade / "cells.yaml").read_text() == CASCADE
    again = call(cascade, "--target", "agreement with costly >= 0.97", "--write", file="tuned.yaml")
    assert main(again) == 0
    assert tuned.read_text().splitlines() == new


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--target", "accuracy >= 0.999"],
            "needs 2,995 rows without a miss; the rows that certify it have 1,120",
        ),
        (
            ["--target", "accuracy >= 0.99"],
            "no value of cut reaches 'accuracy >= 0.99' with 95 % confidence; the best",
        ),
        (
            ["--target", "agreement with cost >= 0.9"],
            "no node 'cost' answers with a class to agree with; did you mean",
        ),
        (
            ["--target", "recall >= 0.9", "--cut", "cat"],
            "the file has no parameter 'cat'; did you mean 'cut'",
        ),
        (["--target", "recall >= 0.9", "--positive-if", "answr > 0.5"], "--positive-if 'answr > 0.5'"),
        (["--target", "recall >= 0.9", "--positive", "fine"], "--positive is 'fine', but the classes are"),
    ],
)
def test_what_cannot_be_said_so(
    cascade: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(call(cascade, *options, "--write")) == 1
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
    assert (cascade / "cells.yaml").read_text() == CASCADE


@pytest.mark.parametrize("target", ["recall > 0.9", "recall >= 1", "f1 >= 0.9", "agreement >= 0.9"])
def test_a_target_that_is_none(cascade: Path, capsys: pytest.CaptureFixture[str], target: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(call(cascade, "--target", target))
    assert caught.value.code == 2
    assert target in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("confidence < ${cut}", ["confidence"]),
        ("${cut}>=p[2]", ["p[2]"]),
        ("COALESCE(meta[2] BETWEEN ${cut} AND 0.95, TRUE)", ["meta[2]"]),
        ("x NOT BETWEEN 0.1 AND ${cut} OR y", ["x"]),
        ("arm = 'a ${cut}' AND ABS(a - b) < ${cut}", ["ABS(a - b)"]),
        ("(p + q) / 2 >= ${cut} AND z", ["(p + q) / 2"]),
        ('"odd name" <> ${cut}', ['"odd name"']),
        ("region = ${region} AND n + ${cut} > 2", []),
    ],
)
def test_what_a_cut_off_is_compared_with(text: str, expected: list[str]) -> None:
    assert list(operands(text, "cut")) == expected
