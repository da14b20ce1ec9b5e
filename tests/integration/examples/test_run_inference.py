"""The digits example with Beam's own RunInference: what RunEnsemble answers, by key, and an error for a bad row."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from examples.digits import pipeline, run_inference
from scripts import answers
from scripts.members import DIGITS

FLAGS = ["--runner=FnApiRunner"]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten held-out images, on disk."""
    DIGITS.make_models()
    file = tmp_path_factory.mktemp("few") / "images.jsonl"
    lines = DIGITS.input.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:10]), encoding="utf-8")
    return file


def test_it_answers_as_run_ensemble_does(few: Path, tmp_path: Path) -> None:
    for module in (pipeline, run_inference):
        module.main([f"--input={few}", f"--output={tmp_path / module.__name__}", *FLAGS])
    ensemble, inference = (answers.read(tmp_path / one.__name__) for one in (pipeline, run_inference))
    asked = [{name: row[name] for name in ("id", "label", "confidence")} for row in ensemble]
    assert len(asked) == 10
    assert answers.differences("RunEnsemble", asked, "RunInference", inference) == []


def test_a_bad_row_has_an_error_for_an_answer(few: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(few.read_text() + json.dumps({"id": -1, "pixels": [1.0]}) + "\n")
    run_inference.main([f"--input={bad}", f"--output={tmp_path / 'out'}", *FLAGS])
    first, *others = answers.read(tmp_path / "out")
    assert first == {"id": -1, "error": "wrong_length"}
    assert all("label" in row for row in others)


def test_it_takes_examples_without_keys(few: Path, tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    run_inference.main([f"--input={few}", f"--output={tmp_path / 'out'}", f"--counts={counts}", *FLAGS])
    named = Counter(row["label"] for row in answers.read(tmp_path / "out"))
    assert {row["label"]: row["images"] for row in map(json.loads, counts.open())} == named
