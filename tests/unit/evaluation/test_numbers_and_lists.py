"""``evaluate`` on numbers and ranked lists: its values are scikit-learn's own, or those of the metric's definition."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge

from beam_ensembles.cli.main import main
from beam_ensembles.evaluation.evaluating import evaluate
from beam_ensembles.evaluation.list_metrics import list_metrics
from beam_ensembles.evaluation.request import Request

MEAN = """\
ensemble: progress
inputs: {x: "array<double>[10]"}
nodes:
  line: {model: sklearn, uri: line.joblib, inputs: [x], outputs: {one: double}}
  ridge: {model: sklearn, uri: ridge.joblib, inputs: [x], outputs: {two: double}}
  mean: {combine: weighted_mean, weights: [3, 1], inputs: [one, two], outputs: {mean: double}}
outputs: [mean]
"""
RANK = """\
ensemble: search
inputs: {items: array<string>, scores: array<double>}
nodes:
  order: {combine: rank, inputs: {candidates: items, scores: scores}, outputs: {top: {}}}
outputs: [top]
"""
PATIENTS, PROGRESS = load_diabetes(return_X_y=True)


@pytest.fixture
def progress(tmp_path: Path) -> Path:
    for name, model in (("line", LinearRegression()), ("ridge", Ridge(5))):
        joblib.dump(model.fit(PATIENTS[::2], PROGRESS[::2]), tmp_path / f"{name}.joblib")
    (tmp_path / "progress.yaml").write_text(MEAN)
    rows = zip(PATIENTS.tolist(), PROGRESS.tolist(), strict=True)
    lines = [json.dumps({"x": x, "after": int(y), "half": y / 2}) for x, y in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    return tmp_path


def own(true: Any, found: Any) -> dict[str, float]:
    return {
        "mae": metrics.mean_absolute_error(true, found),
        "rmse": metrics.root_mean_squared_error(true, found),
        "r2": metrics.r2_score(true, found),
        "pinball": metrics.mean_pinball_loss(true, found, alpha=0.9),
    }


def test_numbers(progress: Path) -> None:
    # Whole numbers are not taken for classes where the ensemble answers a number.
    file, rows = str(progress / "progress.yaml"), str(progress / "rows.jsonl")
    found = evaluate(Request(file=file, input=rows, label="after", quantile=0.9))
    one, two = (joblib.load(progress / f"{name}.joblib").predict(PATIENTS) for name in ("line", "ridge"))
    mean = np.average([one, two], axis=0, weights=[3, 1])
    assert (found.task, found.main) == ("numbers", "mae")
    by_name = {subject.name: subject.metrics for subject in found.judged}
    assert by_name == {
        "progress": pytest.approx(own(PROGRESS, mean)),
        "line": pytest.approx(own(PROGRESS, one)),
        "ridge": pytest.approx(own(PROGRESS, two)),
        "mean": pytest.approx(own(PROGRESS, mean)),
    }
    left = {one.member: one.metrics for one in found.left_out}
    assert left == {"line": pytest.approx(own(PROGRESS, two)), "ridge": pytest.approx(own(PROGRESS, one))}
    compared = {other.name: other for other in found.compared}
    gain = metrics.mean_absolute_error(PROGRESS, two) - metrics.mean_absolute_error(PROGRESS, mean)
    assert compared["ridge"].gains["mae"].value == pytest.approx(gain)
    assert {(a, b): value for a, b, value in found.disagreement}["line", "ridge"] == pytest.approx(
        np.abs(one - two).mean()
    )


def test_numbers_on_the_terminal_and_the_page(progress: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, rows, page = (str(progress / name) for name in ("progress.yaml", "rows.jsonl", "page.html"))
    assert main(["evaluate", file, "--input", rows, "--label", "half", "--report", page]) == 0
    out = capsys.readouterr().out
    assert "worse than" in out or "better than" in out
    assert "Cost against quality: lower is better" in Path(page).read_text()


@pytest.fixture
def search(tmp_path: Path) -> Path:
    (tmp_path / "search.yaml").write_text(RANK)
    drawn = np.random.default_rng(0)
    rows = [
        {
            "items": ["a", "b", "c", "d"],
            "scores": drawn.normal(size=4).tolist(),
            "clicked": str(drawn.choice(["a", "b", "c", "z"])),
            "liked": drawn.choice(["a", "b", "c", "z"], 2, replace=False).tolist(),
        }
        for _ in range(50)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def test_ranked_lists(search: Path) -> None:
    rows = [json.loads(line) for line in (search / "rows.jsonl").read_text().splitlines()]
    tops = [[row["items"][at] for at in np.argsort([-one for one in row["scores"]])] for row in rows]
    for label in ("clicked", "liked"):
        request = Request(
            file=str(search / "search.yaml"), input=str(search / "rows.jsonl"), label=label, task="lists", k=2
        )
        found = evaluate(request)
        wanted = [set([row[label]] if label == "clicked" else row[label]) for row in rows]
        gains = []
        for top, good in zip(tops, wanted, strict=True):
            gain = sum(1 / math.log2(at + 2) for at in range(2) if top[at] in good)
            gains.append(gain / sum(1 / math.log2(at + 2) for at in range(min(2, len(good)))))
        first = [next((1 / (at + 1) for at, one in enumerate(top) if one in good), 0.0)
                 for top, good in zip(tops, wanted, strict=True)]  # fmt: skip
        assert found.ensemble.metrics == pytest.approx(
            {"ndcg": np.mean(gains), "mrr": np.mean(first), "hit": np.mean([one >= 0.5 for one in first])}
        )


def test_ndcg_is_scikit_learns_where_all_candidates_are_ranked() -> None:
    drawn = np.random.default_rng(2)
    scores, hits = drawn.normal(size=(40, 6)), drawn.integers(0, 2, (40, 6))
    hits[:, 0] |= hits.sum(axis=1) == 0
    tops = [np.argsort(-row).tolist() for row in scores]
    wanted = [np.flatnonzero(row).tolist() for row in hits]
    found = list_metrics(wanted, tops, 3)
    assert found["ndcg"] == pytest.approx(metrics.ndcg_score(hits, scores, k=3))
    single = [[row[0]] for row in wanted]
    relevant = np.array([[at == one for at in range(6)] for (one,) in single])
    assert list_metrics(single, tops, 3)["mrr"] == pytest.approx(
        metrics.label_ranking_average_precision_score(relevant, scores)
    )
