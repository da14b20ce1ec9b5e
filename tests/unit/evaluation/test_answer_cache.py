"""``--cache``: a second run calls no model, whatever changes is asked again, and a damaged file is only a warning."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from beam_ensembles.cli.main import main
from beam_ensembles.evaluation import answer_cache
from beam_ensembles.evaluation.answer_cache import AnswerCache
from beam_ensembles.execution import answer_digest
from beam_ensembles.handlers.support.shared_members import load_member

SECONDS = 0.02
"""How long a call of a model takes at least."""
X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names
FILE = """\
ensemble: flowers
parameters: {cut: 0.6}
inputs: {x: "array<double>[4]"}
nodes:
  linear: {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [x], outputs: {p: "array<double>[3]"}}
  sure: {apply: sql, select: {sure: "GREATEST(p[1], p[2], p[3])"}}
  forest: {model: sklearn, uri: forest.joblib, when: "sure < ${cut}", inputs: [x], outputs: {q: string}}
  first: {apply: sql, select: {species: "COALESCE(q, CASE WHEN p[1] > 0.5 THEN 'setosa' ELSE 'virginica' END)"}}
outputs: [species]
"""


def save_forest(folder: Path, seed: int = 0) -> None:
    joblib.dump(RandomForestClassifier(20, random_state=seed).fit(X, NAMES[Y]), folder / "forest.joblib")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    joblib.dump(LogisticRegression(max_iter=500).fit(X[::3], Y[::3]), tmp_path / "linear.joblib")
    save_forest(tmp_path)
    (tmp_path / "flowers.yaml").write_text(FILE)
    rows = np.tile(X, (4, 1)) + np.random.default_rng(0).normal(0, 0.4, (600, 4))
    frame = pd.DataFrame({"x": rows.tolist(), "kind": np.tile(NAMES[Y], 4)})
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each call of a model with rows of the file."""
    found: list[str] = []

    def load(node: Any, machine: Any) -> Any:
        member = load_member(node, machine)

        class Counted:
            def __getattr__(self, name: str) -> Any:
                return getattr(member, name)

            def __call__(self, columns: Any) -> Any:
                found.append(node.spec.name)
                time.sleep(SECONDS)
                return member(columns)

        return Counted() if node.spec.kind == "model" else member

    monkeypatch.setattr(answer_cache, "load_member", load)
    return found


Capture = pytest.CaptureFixture[str]


def run(folder: Path, capsys: Capture, *flags: str, verb: str = "evaluate") -> Any:
    file, rows = str(folder / "flowers.yaml"), str(folder / "rows.parquet")
    cache = ["--cache", str(folder / "cache"), "--batch-size", "200", "--json"]
    assert main([verb, file, "--input", rows, "--label", "kind", *cache, *flags]) == 0, (
        capsys.readouterr().err
    )
    return json.loads(capsys.readouterr().out)


def test_a_second_evaluation_calls_no_model_and_says_the_same(
    folder: Path, calls: list[str], capsys: Capture
) -> None:
    first = run(folder, capsys)
    assert set(calls) == {"linear", "forest"}
    calls.clear()
    again = run(folder, capsys)
    assert calls == []
    for one, other in zip(first.pop("costs"), again.pop("costs"), strict=True):
        assert (one["name"], one["calls"], one["asked"]) == (other["name"], other["calls"], other["asked"])
        if one["name"] in ("linear", "forest"):
            assert other["milliseconds"] >= 1_000 * SECONDS * one["calls"], "what the calls cost"
    assert again == first


TUNE = ("--cut", "cut", "--target", "agreement with forest >= 0.8")


def test_a_second_tuning_calls_no_model(folder: Path, calls: list[str], capsys: Capture) -> None:
    first = run(folder, capsys, *TUNE, verb="tune")
    assert calls.count("forest") == 3, "each part once, with all rows"
    calls.clear()
    again = run(folder, capsys, *TUNE[:-1], "agreement with forest >= 0.75", verb="tune")
    assert calls == []
    assert run(folder, capsys, *TUNE, verb="tune")["numbers"] == first["numbers"]
    assert again["targets"][0]["target"] == "agreement with forest >= 0.75"


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (lambda folder: save_forest(folder, 5), {"forest"}),
        (
            lambda folder: (folder / "flowers.yaml").write_text(
                FILE.replace("predict_proba, inputs: [x]", "predict_proba, batch: {max: 64}, inputs: [x]")
            ),
            {"linear"},
        ),
        (lambda folder: (folder / "flowers.yaml").write_text(f"# a remark\n{FILE}"), set()),
    ],
    ids=["a model", "a node", "a remark"],
)
def test_what_has_changed_is_asked_again(
    change: Callable[[Path], object], asked: set[str], folder: Path, calls: list[str], capsys: Capture
) -> None:
    run(folder, capsys, *TUNE, verb="tune")
    calls.clear()
    change(folder)
    run(folder, capsys, *TUNE, verb="tune")
    assert set(calls) == asked


def test_other_rows_and_libraries_are_asked_again(
    folder: Path, calls: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder, capsys)
    calls.clear()
    frame = pd.read_parquet(folder / "rows.parquet")
    frame.at[599, "x"] = frame.at[599, "x"] + 1e-12
    frame.to_parquet(folder / "rows.parquet")
    run(folder, capsys)
    assert calls.count("linear") == 1, "only the last part has changed"
    calls.clear()
    monkeypatch.setattr(answer_digest, "versions_of", lambda node: {"sklearn": "0.1"})
    run(folder, capsys)
    assert calls.count("linear") == 3


@pytest.mark.parametrize("damage", ["cut", "flip", "other"])
def test_a_damaged_file_is_a_warning(
    damage: str, folder: Path, calls: list[str], capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    first = run(folder, capsys)
    files = sorted((folder / "cache").rglob("*.npz"))
    assert len(files) == 6
    for path in files:
        content = bytearray(path.read_bytes())
        if damage == "flip":
            content[content.rindex(b"NUMPY") + 130] ^= 255  # a value of the last column
        path.write_bytes(content[:40] if damage == "cut" else b"{}" if damage == "other" else content)
    calls.clear()
    with caplog.at_level(logging.WARNING):
        again = run(folder, capsys)
    assert len(calls) == 6
    assert again["subjects"] == first["subjects"]
    assert caplog.text.count("of the cache cannot be used, so the models are asked again") == 1
    calls.clear()
    run(folder, capsys)
    assert calls == [], "the files are written anew"


def test_objects_are_not_unpickled(folder: Path) -> None:
    cache = AnswerCache(str(folder / "cache"))
    path = folder / "cache" / "ab" / "abc.npz"
    path.parent.mkdir()
    np.savez(path, head=np.array([{"names": []}], object))
    assert cache.found("linear", "abc", 1) is None


def test_a_folder_that_cannot_be(folder: Path, capsys: Capture) -> None:
    (folder / "cache").write_text("")
    flags = ["--input", str(folder / "rows.parquet"), "--label", "kind", "--cache", str(folder / "cache")]
    assert main(["evaluate", str(folder / "flowers.yaml"), *flags]) == 1
    (line,) = [one for one in capsys.readouterr().err.splitlines() if "cache" in one]
    assert "of the cache cannot be made" in line
