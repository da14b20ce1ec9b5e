"""``evaluate`` on labels: its values are scikit-learn's own on the answers of the models themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from beam_ensembles.cli.main import main
from beam_ensembles.evaluation import comparisons
from beam_ensembles.evaluation.comparisons import bootstrap
from beam_ensembles.evaluation.evaluating import evaluate
from beam_ensembles.evaluation.request import Request
from beam_ensembles.evaluation.results import Evaluation, Judged

NAMES = list(load_iris().target_names)
FLOWERS, KINDS = load_iris(return_X_y=True)
CELLS, GOOD = load_breast_cancer(return_X_y=True)
VOTE = """\
ensemble: flowers
inputs: {x: "array<double>[4]"}
nodes:
  linear: {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [x], outputs: {one: "array<double>[3]"}}
  forest: {model: sklearn, uri: forest.joblib, method: predict_proba, inputs: [x], outputs: {two: "array<double>[3]"}}
  near: {model: sklearn, uri: near.joblib, method: predict_proba, inputs: [x], outputs: {three: "array<double>[3]"}}
  vote:
    combine: soft_vote
    inputs: [one, two, three]
    weights: [2, 1, 1]
    labels: [setosa, versicolor, virginica]
    outputs: {species: {from: label}, confidence: double}
outputs: [species, confidence]
"""
CASCADE = """\
ensemble: cells
inputs: {x: "array<double>[4]"}
nodes:
  linear: {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [x], outputs: {p: "array<double>[2]"}}
  cheap: {apply: sql, select: {cheap_p: "p[2]", unsure: "COALESCE(p[2] BETWEEN 0.1 AND 0.9, TRUE)"}}
  forest:
    model: sklearn
    uri: forest.joblib
    method: predict_proba
    when: unsure
    inputs: [x]
    outputs: {forest_proba: "array<double>[2]"}
  score: {apply: sql, select: {answer: "COALESCE(forest_proba[2], cheap_p)"}}
outputs: [answer]
"""


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vote of three models, weak enough to be wrong, and rows with a label, half of them unseen."""
    folder = tmp_path_factory.mktemp("flowers")
    x = FLOWERS + np.random.default_rng(0).normal(0, 0.5, FLOWERS.shape)
    models = {
        "linear": LogisticRegression(max_iter=500),
        "forest": RandomForestClassifier(5, random_state=0),
        "near": KNeighborsClassifier(3),
    }
    for name, model in models.items():
        joblib.dump(model.fit(x[::2], KINDS[::2]), folder / f"{name}.joblib")
    (folder / "flowers.yaml").write_text(VOTE)
    size = np.where(FLOWERS[:, 0] > 5.8, "large", "small")
    rows = {"x": x.tolist(), "kind": [NAMES[at] for at in KINDS], "size": size.tolist()}
    pq.write_table(pa.table(rows), folder / "rows.parquet")
    return folder


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cells")
    x = CELLS[:, [0, 1, 4, 8]]
    joblib.dump(LogisticRegression(max_iter=2000).fit(x[::2], GOOD[::2]), folder / "linear.joblib")
    joblib.dump(RandomForestClassifier(20, random_state=0).fit(x[::2], GOOD[::2]), folder / "forest.joblib")
    (folder / "cells.yaml").write_text(CASCADE)
    lines = [
        json.dumps({"x": row.tolist(), "good": bool(label), "group": f"g{at % 3}"})
        for at, (row, label) in enumerate(zip(x, GOOD, strict=True))
    ]
    (folder / "rows.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def voted(flowers: Path) -> Evaluation:
    return evaluate(
        Request(
            file=str(flowers / "flowers.yaml"), input=str(flowers / "rows.parquet"), label="kind", by="size"
        )
    )


def rows_of(folder: Path) -> tuple[Any, Any]:
    table = pq.read_table(folder / "rows.parquet")
    return np.array(table["x"].to_pylist()), np.array(table["kind"].to_pylist())


def probabilities(folder: Path, *names: str, weights: Sequence[float] = (2, 1, 1)) -> Any:
    x, _ = rows_of(folder)
    order = ["linear", "forest", "near"]
    found = [joblib.load(folder / f"{name}.joblib").predict_proba(x) for name in names]
    return np.average(found, axis=0, weights=[weights[order.index(name)] for name in names])


def expected(true: Any, scores: Any) -> dict[str, float]:
    """Returns scikit-learn's values, of three classes."""
    found = np.array(NAMES)[scores.argmax(axis=1)]
    hits = np.stack([true == name for name in NAMES], axis=1)
    best = scores.max(axis=1)
    right = (true == found).astype(float)
    bins = np.minimum((best * 10).astype(int), 9)
    gaps = [
        abs(best[bins == at].mean() - right[bins == at].mean()) * (bins == at).mean()
        for at in set(bins.tolist())
    ]
    return {
        "accuracy": metrics.accuracy_score(true, found),
        "balanced_accuracy": metrics.balanced_accuracy_score(true, found),
        "f1": metrics.f1_score(true, found, average="macro"),
        "log_loss": metrics.log_loss(true, scores, labels=NAMES),
        "brier": metrics.brier_score_loss(true, scores, labels=NAMES),
        "roc_auc": metrics.roc_auc_score(true, scores, multi_class="ovr", labels=NAMES),
        "average_precision": metrics.average_precision_score(hits, scores, average="macro"),
        "ece": sum(gaps),
    }


def judged(found: Evaluation, name: str) -> Judged:
    (one,) = [one for one in found.judged if one.name == name]
    return one


def test_every_metric_is_scikit_learns(flowers: Path, voted: Evaluation) -> None:
    _, true = rows_of(flowers)
    assert (voted.task, voted.classes, voted.rows) == ("labels", tuple(NAMES), len(true))
    for name, members in {
        "flowers": ("linear", "forest", "near"),
        "vote": ("linear", "forest", "near"),
        "linear": ("linear",),
        "forest": ("forest",),
        "near": ("near",),
    }.items():
        assert judged(voted, name).metrics == pytest.approx(expected(true, probabilities(flowers, *members)))
    found = np.array(NAMES)[probabilities(flowers, "linear", "forest", "near").argmax(axis=1)]
    matrix = metrics.confusion_matrix(true, found, labels=NAMES)
    assert voted.ensemble.curves.confusion == matrix.tolist()


@pytest.mark.parametrize("file", ["rows.jsonl", "rows.csv"])
def test_truth_values_are_compared_with_a_model_of_truth_values(file: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    true = x[:, 0] + rng.normal(size=60) > 0
    model = LogisticRegression().fit(x, true)
    joblib.dump(model, tmp_path / "m.joblib")
    lines = [
        "ensemble: truths",
        "inputs: {a: double, b: double}",
        "nodes:",
        "  said: {model: sklearn, uri: m.joblib, inputs: [a, b], outputs: {y: boolean}}",
        "  p: {model: sklearn, uri: m.joblib, method: predict_proba, inputs: [a, b], outputs: {p: 'array<double>[2]'}}",
    ]
    (tmp_path / "truths.yaml").write_text("\n".join(lines))
    frame = pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "kind": true})
    if file == "rows.csv":
        frame.to_csv(tmp_path / file, index=False)
    else:
        frame.to_json(tmp_path / file, orient="records", lines=True, double_precision=15)
    found = evaluate(Request(file=str(tmp_path / "truths.yaml"), input=str(tmp_path / file), label="kind"))
    shares = model.predict_proba(x)[:, 1]
    accuracy = metrics.accuracy_score(true, model.predict(x))
    assert judged(found, "said").metrics["accuracy"] == pytest.approx(accuracy)
    sure = judged(found, "p").metrics
    assert sure["log_loss"] == pytest.approx(metrics.log_loss(true, shares))
    assert sure["roc_auc"] == pytest.approx(metrics.roc_auc_score(true, shares))


def test_leaving_a_member_out_is_the_vote_of_the_others(flowers: Path, voted: Evaluation) -> None:
    _, true = rows_of(flowers)
    left = {one.member: one for one in voted.left_out}
    assert set(left) == {"linear", "forest", "near"}
    for member, one in left.items():
        others = [name for name in ("linear", "forest", "near") if name != member]
        scores = probabilities(flowers, *others)
        assert one.metrics == pytest.approx(expected(true, scores))
        gain = metrics.log_loss(true, scores, labels=NAMES) - voted.ensemble.metrics["log_loss"]
        assert one.gains["log_loss"].value == pytest.approx(gain)


def test_the_comparison_with_members(flowers: Path, voted: Evaluation) -> None:
    _, true = rows_of(flowers)
    scores = {name: probabilities(flowers, name) for name in ("linear", "forest", "near")}
    whole = probabilities(flowers, "linear", "forest", "near")
    losses = {name: metrics.log_loss(true, one, labels=NAMES) for name, one in scores.items()}
    assert [one.name for one in voted.compared] == sorted(losses, key=lambda name: losses[name])
    for one in voted.compared:
        gain = one.gains["log_loss"]
        assert gain.value == pytest.approx(losses[one.name] - metrics.log_loss(true, whole, labels=NAMES))
        assert gain.low <= gain.value <= gain.high
        right = np.array(NAMES)[whole.argmax(axis=1)] == true
        its = np.array(NAMES)[scores[one.name].argmax(axis=1)] == true
        assert one.test is not None
        assert (one.test.better, one.test.worse) == ((right & ~its).sum(), (~right & its).sum())
    differ = {(one, other): value for one, other, value in voted.disagreement}
    apart = (scores["linear"].argmax(axis=1) != scores["near"].argmax(axis=1)).mean()
    assert differ["linear", "near"] == pytest.approx(apart)


def test_parts_and_formats_give_the_same(flowers: Path, voted: Evaluation, tmp_path: Path) -> None:
    table = pq.read_table(flowers / "rows.parquet").to_pylist()
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in table))
    cells = "".join(f'"{row["x"]}",{row["kind"]},{row["size"]}\n' for row in table)
    (tmp_path / "rows.csv").write_text(f"x,kind,size\n{cells}")
    for name, size in (("rows.jsonl", 7), ("rows.csv", 64)):
        file, input_ = str(flowers / "flowers.yaml"), str(tmp_path / name)
        found = evaluate(Request(file=file, input=input_, label="kind", by="size", batch_size=size))
        assert found.ensemble.metrics == pytest.approx(voted.ensemble.metrics)
        assert found.compared[0].gains["log_loss"].low == pytest.approx(
            voted.compared[0].gains["log_loss"].low
        )
        assert [one.rows for one in found.slices] == [one.rows for one in voted.slices]


def test_a_cascade(cells: Path) -> None:
    found = evaluate(
        Request(file=str(cells / "cells.yaml"), input=str(cells / "rows.jsonl"), label="good", by="group")
    )
    x, true = CELLS[:, [0, 1, 4, 8]], GOOD == 1
    cheap = joblib.load(cells / "linear.joblib").predict_proba(x)[:, 1]
    forest = joblib.load(cells / "forest.joblib").predict_proba(x)[:, 1]
    unsure = (cheap >= 0.1) & (cheap <= 0.9)
    score = np.where(unsure, forest, cheap)
    assert (found.positive, found.classes) == ("true", ("false", "true"))
    assert found.ensemble.metrics == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(true, score >= 0.5),
            "balanced_accuracy": metrics.balanced_accuracy_score(true, score >= 0.5),
            "f1": metrics.f1_score(true, score >= 0.5),
            "log_loss": metrics.log_loss(true, score),
            "brier": metrics.brier_score_loss(true, score),
            "roc_auc": metrics.roc_auc_score(true, score),
            "average_precision": metrics.average_precision_score(true, score),
            "ece": found.ensemble.metrics["ece"],
        }
    )
    assert judged(found, "forest").rows == unsure.sum()
    assert judged(found, "forest").metrics["roc_auc"] == pytest.approx(
        metrics.roc_auc_score(true[unsure], forest[unsure])
    )
    costs = {one.name: one for one in found.costs}
    assert costs["forest"].through == pytest.approx(unsure.mean())
    assert (costs["forest"].asked, costs["linear"].asked) == (unsure.sum(), len(x))
    assert costs["forest"].per_row > 0
    by_name = {one.value: one for one in found.slices}
    own = np.arange(len(x)) % 3 == 0
    assert by_name["g0"].metrics["roc_auc"] == pytest.approx(metrics.roc_auc_score(true[own], score[own]))


def test_the_calibration_error_is_that_of_the_calibration_curve(cells: Path) -> None:
    from sklearn.calibration import calibration_curve

    found = evaluate(Request(file=str(cells / "cells.yaml"), input=str(cells / "rows.jsonl"), label="good"))
    scores = joblib.load(cells / "linear.joblib").predict_proba(CELLS[:, [0, 1, 4, 8]])[:, 1]
    share, mean = calibration_curve(GOOD, scores, n_bins=10)
    counts = np.bincount(np.minimum((scores * 10).astype(int), 9), minlength=10)
    weights = counts[counts > 0] / len(scores)
    assert judged(found, "linear").metrics["ece"] == pytest.approx((np.abs(share - mean) * weights).sum())


def test_a_slice_that_is_worse(cells: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (cells / "rows.jsonl").read_text().splitlines()]
    for at, row in enumerate(rows):
        row["place"] = "north" if at % 4 else "south"
        row["good"] = row["good"] if at % 4 or at % 8 else not row["good"]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = evaluate(
        Request(file=str(cells / "cells.yaml"), input=str(tmp_path / "rows.jsonl"), label="good", by="place")
    )
    assert [(one.value, one.is_worse) for one in found.slices] == [("south", True), ("north", False)]


def test_the_interval_covers_as_often_as_it_says() -> None:
    drawn = np.random.default_rng(1)
    inside = 0
    for seed in range(60):
        (one,) = bootstrap(drawn.normal(0.3, 1, (100, 1)), seed)
        inside += one.low <= 0.3 <= one.high
    assert 50 <= inside <= 60
    values = drawn.normal(size=(50, 2))
    assert bootstrap(values, 3) == bootstrap(values, 3)


@pytest.mark.parametrize("at_once", [1, 170, 1 << 21])
def test_resamples_are_the_same_however_many_are_in_memory(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).normal(size=(50, 2))
    drawn = np.random.default_rng(3)
    means = [values[drawn.integers(0, 50, 50)].mean(axis=0) for _ in range(1_000)]
    monkeypatch.setattr(comparisons, "_AT_ONCE", at_once)
    found = bootstrap(values, 3)
    np.testing.assert_allclose([one.low for one in found], np.percentile(means, 2.5, axis=0))
    np.testing.assert_allclose([one.high for one in found], np.percentile(means, 97.5, axis=0))


BAD: dict[str, tuple[Any, list[str], str]] = {
    "missing": (lambda rows: None, ["--label", "kinds"], "has no field 'kinds'; did you mean 'kind'?"),
    "null": (
        lambda rows: rows[7].update(kind=None),
        [],
        "row 8 has no label: 'kind' is null; leave out rows",
    ),
    "type": (
        lambda rows: rows[7].update(kind=3),
        [],
        "row 8: the label 'kind' is 3, but those before it are texts",
    ),
    "no label's type": (
        lambda rows: [row.update(kind={"a": 1}) for row in rows],
        [],
        "row 1: the label 'kind' is {\"a\": 1} (dict); labels are texts, numbers, booleans or lists of",
    ),
    "infinite": (
        lambda rows: [row.update(kind=float("inf")) for row in rows],
        ["--task", "numbers"],
        "the label 'kind' is Infinity, which is none of the task 'numbers'",
    ),
    "class": (
        lambda rows: rows[140].update(kind="rose"),
        [],
        "row 141: the label 'kind' is \"rose\", which is not a class of the ensemble; its classes: setosa, versicolor",
    ),
    "one": (lambda rows: rows.__delitem__(slice(50, None)), [], "all 50 rows have the same label, setosa;"),
    "numbers": (
        lambda rows: [row.update(kind=0.5) for row in rows],
        [],
        "no output of the ensemble can be compared with the label 'kind'",
    ),
    "positive": (
        lambda rows: None,
        ["--positive", "setosa"],
        "--positive is for two classes, but there are 3",
    ),
    "answer": (lambda rows: None, ["--answer", "spezies"], "no output 'spezies'; did you mean 'species'?"),
    "by": (lambda rows: None, ["--by", "sise"], "has no field 'sise'; did you mean 'size'?"),
    "task": (
        lambda rows: None,
        ["--task", "numbers"],
        "the label 'kind' is \"setosa\", which is none of the task",
    ),
    "none": (lambda rows: rows.clear(), [], "has no rows"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, words, said = BAD[name]
    rows = pq.read_table(flowers / "rows.parquet").to_pylist()
    change(rows)
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    label = [] if "--label" in words else ["--label", "kind"]
    page = tmp_path / "page.html"
    given = [str(flowers / "flowers.yaml"), "--input", str(tmp_path / "rows.jsonl"), "--report", str(page)]
    code = main(["evaluate", *given, *label, *words])
    out, err = capsys.readouterr()
    assert (code, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert not page.exists()


def test_scores_that_are_no_probabilities(
    cells: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in cells.glob("*.joblib"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    text = CASCADE.replace('"COALESCE(forest_proba[2], cheap_p)"', '"COALESCE(forest_proba[2], cheap_p) * 2"')
    (tmp_path / "cells.yaml").write_text(text)
    code = main(
        ["evaluate", str(tmp_path / "cells.yaml"), "--input", str(cells / "rows.jsonl"), "--label", "good"]
    )
    _, err = capsys.readouterr()
    assert code == 1
    assert "'answer' is 1." in err
    assert "not a probability from 0 to 1; apply softmax" in err


def test_the_terminal_and_json(flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [
        "evaluate",
        str(flowers / "flowers.yaml"),
        "--input",
        str(flowers / "rows.parquet"),
        "--label",
        "kind",
    ]
    assert main([*given, "--by", "size"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "ensemble 'flowers'"
    (verdict,) = [line for line in lines if line.startswith("The ensemble is ")]
    gain = re.search(r"gain in [\w ]+ ([+-][\d.]+) \(95 %", verdict)
    assert gain, verdict
    assert any(f"{gain[1]} (" in line for line in lines if line != verdict), "the table says another gain"
    titles = [
        "The ensemble and its members",
        "Leave one out",
        "By size",
        "What each node costs",
        "Disagreement",
    ]
    assert [line for line in lines if line in titles] == titles
    assert main([*given, "--json", "--seed", "3"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["task"], data["settings"]["seed"], len(data["leave_one_out"])) == ("labels", 3, 3)


def test_without_scikit_learn(
    flowers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.metrics", None)
    given = [
        "evaluate",
        str(flowers / "flowers.yaml"),
        "--input",
        str(flowers / "rows.parquet"),
        "--label",
        "kind",
    ]
    assert main(given) == 1
    assert (
        "scikit-learn, which is not installed here; install beam-ensembles[sklearn]"
        in capsys.readouterr().err
    )
