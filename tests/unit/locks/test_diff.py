"""``beam-ensembles diff``: limits, slices, quality, and the versions that it takes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss

from beam_ensembles import Ensemble
from beam_ensembles.cli.main import main
from tests.support import locked_flowers as flowers
from tests.support.locked_flowers import FILE, NAMES, X, Y

Captured = pytest.CaptureFixture[str]
OLD, NEW = "old/flowers.yaml", "new/flowers.yaml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions: that with its lock, and one whose forest knows the flowers of one half only."""
    folder = tmp_path_factory.mktemp("versions")
    (folder / "old").mkdir()
    flowers.write(folder / "old")
    flowers.lock(folder / "old")
    shutil.copytree(folder / "old", folder / "new", ignore=shutil.ignore_patterns("*.lock.*"))
    joblib.dump(flowers.forest(X[::2], (Y[::2] * 2) % 3), folder / "new" / "forest.joblib")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them, which is the current folder."""
    found = Path(shutil.copytree(made, tmp_path / "copy"))
    monkeypatch.chdir(found)
    return found


def call(capsys: Captured, *words: str) -> tuple[int, str, str]:
    """Runs ``diff``."""
    code = main(["diff", *words])
    return code, *capsys.readouterr()


def found(capsys: Captured, *words: str) -> tuple[int, Any]:
    """Runs ``diff`` and returns what it prints for programs."""
    code, out, _ = call(capsys, *words, "--json")
    return code, json.loads(out)


def scored() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the answers of both, by the code of notebooks."""
    rows = pd.read_parquet("old/rows.parquet")
    return Ensemble(OLD).predict(rows), Ensemble(NEW).predict(rows)


def test_shares_and_shifts_are_those_of_the_answers(folder: Path, capsys: Captured) -> None:
    code, data = found(capsys, OLD, NEW)
    assert code == 0, "there are no limits"
    old, new = scored()
    columns = {one["column"]: one for one in data["behaviour"]["columns"]}
    assert columns["species"]["relabelled"] == int((old["species"] != new["species"]).sum()) > 0
    shift = np.abs(old["confidence"] - new["confidence"])
    assert columns["confidence"]["largest"] == pytest.approx(shift.max())
    assert columns["confidence"]["median"] == pytest.approx(shift.median())
    scores = np.abs(np.stack(old["scores"]) - np.stack(new["scores"])).max(axis=1)
    assert columns["scores"]["largest"] == pytest.approx(scores.max())
    assert data["behaviour"]["causes"][0]["node"] == "forest"
    assert [one["node"] for one in data["behaviour"]["causes"]] == ["forest"]


def test_rows_by_a_field(folder: Path, capsys: Captured) -> None:
    _, data = found(capsys, OLD, NEW, "--by", "wide")
    old, new = scored()
    other = (
        (old["species"] != new["species"]) | (old["lane"] != new["lane"]) | (old["unsure"] != new["unsure"])
    )
    other |= np.stack(old["scores"]).argmax(axis=1) != np.stack(new["scores"]).argmax(axis=1)
    slices = {one["value"]: one for one in data["behaviour"]["slices"]}
    for value, name in ((True, "true"), (False, "false")):
        inside = old["wide"] == value
        assert (slices[name]["rows"], slices[name]["relabelled"]) == (inside.sum(), (other & inside).sum())


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--max-label-changes", "100%"), 0),
        (("--max-label-changes", "0.1%"), 1),
        (("--max-label-changes", "0"), 1),
        (("--max-shift", "confidence=1"), 0),
        (("--max-shift", "confidence=0.01"), 1),
        (("--max-shift", "confidence=1", "--max-shift", "scores=0.001"), 1),
        (("--label", "kind", "--max-log-loss", "+10"), 0),
        (("--label", "kind", "--max-log-loss", "+0.005"), 1),
    ],
)
def test_limits(words: tuple[str, ...], code: int, folder: Path, capsys: Captured) -> None:
    given, out, _ = call(capsys, "old/flowers.lock.yaml", NEW, *words)
    assert given == code
    assert ("beyond the limits:" in out) == (code == 1)


def test_the_quality_is_that_of_scikit_learn(folder: Path, capsys: Captured) -> None:
    _, data = found(capsys, "old/flowers.lock.yaml", NEW, "--label", "kind")
    old, new = scored()
    truth = np.array([NAMES[one] for one in Y])
    quality = data["quality"]
    for name, rows in (("old", old), ("new", new)):
        assert quality["accuracy"][name] == pytest.approx(accuracy_score(truth, rows["species"]))
        scores = log_loss(truth, np.stack(rows["scores"]), labels=NAMES)
        assert quality["log_loss"][name] == pytest.approx(scores)
    was, now = old["species"].to_numpy() == truth, new["species"].to_numpy() == truth
    assert (data["better"], data["worse"]) == ((now & ~was).sum(), (was & ~now).sum())


def test_rows_of_ones_own(folder: Path, capsys: Captured) -> None:
    pd.read_parquet("old/rows.parquet").head(40).to_json("few.jsonl", orient="records", lines=True)
    os.remove("old/flowers.lock.yaml")
    _, data = found(capsys, OLD, NEW, "--input", "few.jsonl")
    assert data["behaviour"]["rows"] == 40
    code, out, _ = call(capsys, OLD, NEW)
    assert code == 0
    assert "note: the answers were not compared: there are no rows" in out
    assert call(capsys, OLD, NEW, "--max-label-changes", "1%")[0] == 1


def test_two_locks_and_two_bundles(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    flowers.lock(folder / "new")
    _, expected = found(capsys, OLD, NEW)
    _, locks = found(capsys, "old/flowers.lock.yaml", "new/flowers.lock.yaml")
    assert locks["behaviour"]["columns"] == expected["behaviour"]["columns"]
    monkeypatch.setenv("BEAM_ENSEMBLES_CACHE", os.fspath(folder / "cache"))
    for name in ("old", "new"):
        assert main(["pack", f"{name}/flowers.yaml", "--output", f"{name}.ensemble.zip"]) == 0
    capsys.readouterr()
    _, bundles = found(capsys, "old.ensemble.zip", "new.ensemble.zip")
    assert bundles["behaviour"]["columns"] == expected["behaviour"]["columns"]
    assert [one["name"] for one in bundles["differences"]] == ["forest.joblib"]


def test_locks_of_other_rows_are_not_compared(folder: Path, capsys: Captured) -> None:
    flowers.lock(folder / "new", most=30)
    code, _, err = call(capsys, "old/flowers.lock.yaml", "new/flowers.lock.yaml")
    assert code == 1
    assert "are not the same ones" in err


def test_markdown_is_a_comment_whose_cells_hold_no_marks(folder: Path, capsys: Captured) -> None:
    _, out, _ = call(capsys, OLD, NEW, "--markdown", "--by", "kind")
    lines = out.splitlines()
    assert lines[0].startswith("**old/flowers.yaml -\\> new/flowers.yaml: the answers of ")
    heads = [line for line in lines if line.startswith("|---")]
    assert len(heads) == 4
    for at, line in enumerate(lines):
        if line in heads:
            assert lines[at - 1].replace("\\|", "").count("|") == line.count("|")


def test_rows_that_the_new_version_cannot_score_count(folder: Path, capsys: Captured) -> None:
    shutil.copy("old/forest.joblib", "new/forest.joblib")
    (folder / "new" / "strict.py").write_text(
        "def strict(x):\n    if (x[:, 0] > 7.5).any():\n        raise ValueError('too long')\n    return x[:, 0]\n"
    )
    Path("new/flowers.yaml").write_text(
        FILE.replace("unsure, lane]", "unsure, lane, long]").replace(
            "  doubt:",
            "  strict: {apply: python, function: strict.strict, inputs: [x], outputs: {long: double}}\n  doubt:",
        )
    )
    code, data = found(capsys, "old/flowers.lock.yaml", NEW, "--code", "new", "--max-label-changes", "0%")
    assert code == 1
    long = int((X[:, 0] > 7.5).sum())
    assert data["behaviour"]["failed"] == {"old": 0, "new": long}
    assert data["behaviour"]["label_changes"] == long


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((OLD, OLD), 2, "are one file"),
        ((OLD, "none.yaml"), 2, "there is no file 'none.yaml'"),
        ((OLD, NEW, "--max-log-loss", "+1"), 2, "--max-log-loss is for --label"),
        ((OLD, NEW, "--by", "wid"), 1, "has no field 'wid'; did you mean 'wide'?"),
        ((OLD, NEW, "--label", "kin"), 1, "has no field 'kin'; did you mean 'kind'?"),
        ((OLD, NEW, "--max-shift", "confidenc=1"), 1, "has no such column; did you mean 'confidence'?"),
        ((OLD, NEW, "--label", "kind", "--answer", "lane", "--max-log-loss", "1"), 1, ""),
        (("old/flowers.lock.yaml", NEW, "--input", "old/rows.parquet"), 1, "leave out --input"),
        ((OLD, NEW, "--input", "old/linear.joblib"), 2, "has none of the suffixes"),
    ],
)
def test_what_is_wrong_with_a_call_is_one_sentence(
    words: tuple[str, ...], code: int, said: str, folder: Path, capsys: Captured
) -> None:
    given, out, err = call(capsys, *words)
    assert (given, out) == (code, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_limit_on_labels_that_no_output_has_is_refused(folder: Path, capsys: Captured) -> None:
    for name in ("old", "new"):
        Path(f"{name}/flowers.yaml").write_text(
            'ensemble: flowers\ninputs: {x: "array<double>[4]"}\nnodes:\n'
            '  sum: {apply: sql, select: {first: "x[1] + 1"}, outputs: {first: "double?"}}\n'
        )
    code, _, err = call(capsys, OLD, NEW, "--input", "old/rows.parquet", "--max-label-changes", "1%")
    assert code == 1
    assert "no output has a label or a score per class; limit the shift of its numbers instead" in err


@pytest.mark.parametrize("share", ["101%", "-1%", "x", "nan", "1%%"])
def test_a_limit_that_is_no_share_is_refused(share: str, folder: Path, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as error:
        main(["diff", OLD, NEW, f"--max-label-changes={share}"])
    assert error.value.code == 2
    assert "share" in capsys.readouterr().err
