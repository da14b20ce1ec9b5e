"""``lock`` and ``check``: what is written, what is refused, and what is found to differ."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from beam_ensembles import Ensemble
from beam_ensembles.cli.checking_lock import check_lock
from beam_ensembles.cli.locking import loaded, write_lock
from beam_ensembles.cli.main import main
from beam_ensembles.locks.lock_text import BadLock, parse_lock
from tests.support import locked_flowers as flowers

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files with their lock."""
    folder = tmp_path_factory.mktemp("flowers")
    flowers.write(folder)
    flowers.lock(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them, which is the current folder."""
    found = Path(shutil.copytree(made, tmp_path / "copy"))
    monkeypatch.chdir(found)
    return found


def call(capsys: Captured, *words: str) -> tuple[int, str, str]:
    """Runs a verb."""
    code = main(list(words))
    return code, *capsys.readouterr()


def test_the_lock_says_columns_classes_files_and_libraries(made: Path) -> None:
    lock = parse_lock((made / "flowers.lock.yaml").read_text(), "flowers.lock.yaml")
    assert lock.inputs == {"x": "array<double>[4]", "note": "string"}
    assert lock.outputs["species"].labels == ("setosa", "versicolor", "virginica")
    assert lock.outputs["lane"].labels == ("slow", "fast")
    assert lock.outputs["scores"].type == "array<double>[3]"
    assert list(lock.nodes) == ["linear", "forest", "words", "vote", "doubt", "lane"]
    assert lock.nodes["linear"].outputs["one"].labels == (0, 1, 2)
    assert lock.nodes["vote"].reads == ("one", "two", "three")
    assert set(lock.files) == {"linear.joblib", "forest.joblib", "words.joblib"}
    assert "sklearn" in lock.nodes["forest"].libraries
    assert lock.golden.rows == lock.golden.sampled_from == 150
    assert lock.golden.tolerance["one"] >= 1e-6


def test_golden_rows_have_all_fields_and_the_answers_of_every_node(made: Path) -> None:
    golden = pq.read_table(made / "flowers.lock.parquet").to_pandas()
    rows = pd.read_parquet(made / "rows.parquet")
    assert golden["kind"].tolist() == rows["kind"].tolist()
    scored = Ensemble(made / "flowers.yaml").predict(rows)
    assert golden["vote.species"].tolist() == scored["species"].tolist()
    model = joblib.load(made / "linear.joblib")
    np.testing.assert_allclose(
        np.stack(golden["linear.one"].tolist()), model.predict_proba(flowers.X), rtol=1e-12
    )


def test_the_same_files_and_rows_give_the_same_lock(folder: Path) -> None:
    before = [(folder / name).read_bytes() for name in ("flowers.lock.yaml", "flowers.lock.parquet")]
    flowers.lock(folder)
    assert before == [(folder / name).read_bytes() for name in ("flowers.lock.yaml", "flowers.lock.parquet")]


def test_a_sample_is_drawn_from_all_rows(folder: Path, capsys: Captured) -> None:
    code, out, _ = call(
        capsys, "lock", "flowers.yaml", "--rows", "rows.parquet", "--most-rows", "20", "--json"
    )
    assert (code, json.loads(out)["rows"]) == (0, 20)
    kinds = pq.read_table("flowers.lock.parquet").column("kind").to_pylist()
    assert set(kinds) == set(flowers.NAMES)
    assert call(capsys, "check", "flowers.yaml")[0] == 0


def test_the_lock_is_right_as_long_as_nothing_changes(folder: Path, capsys: Captured) -> None:
    code, out, err = call(capsys, "check", "flowers.yaml")
    assert (code, err) == (0, "")
    assert out.startswith("as locked flowers.yaml: the answers of all 150 rows are the same")


def test_a_table_says_which_node_makes_the_difference(folder: Path, capsys: Captured) -> None:
    joblib.dump(flowers.forest(seed=3), "forest.joblib")
    code, out, _ = call(capsys, "check", "flowers.yaml")
    assert code == 1
    (cause,) = [line for line in out.splitlines() if "the file 'forest.joblib' has other content" in line][:1]
    assert cause.split()[0] == "forest"
    assert "it begins at forest" in out
    code, out, _ = call(capsys, "check", "flowers.yaml", "--json")
    assert [one["node"] for one in json.loads(out)["behaviour"]["causes"]] == ["forest"]


def test_golden_rows_that_the_ensemble_cannot_read_any_more(folder: Path, capsys: Captured) -> None:
    Path("flowers.yaml").write_text(
        flowers.FILE.replace("note: string", "note: string, more: double").replace("< 0.7", "< more")
    )
    code, out, _ = call(capsys, "check", "flowers.yaml")
    assert code == 1
    assert "input 'more' (double) is new: breaks pipelines whose rows lack it" in out
    assert (
        "note: the answers were not compared: the golden rows do not have what the ensemble reads now" in out
    )


def test_answers_of_somebody_else_are_compared(folder: Path, capsys: Captured) -> None:
    rows = pd.read_parquet("rows.parquet")
    scored = Ensemble("flowers.yaml").predict(rows)
    own = rows.assign(confidence=scored["confidence"] + 1e-4, species=scored["species"])
    own.to_parquet("own.parquet")
    assert call(capsys, "check", "flowers.yaml", "--expect", "own.parquet", "--atol", "1e-3")[0] == 0
    code, out, _ = call(capsys, "check", "flowers.yaml", "--expect", "own.parquet")
    assert code == 1
    assert "confidence" in out
    assert "150 (100%)" in out
    os.remove("flowers.lock.yaml")  # it is not needed
    assert call(capsys, "check", "flowers.yaml", "--expect", "own.parquet", "--atol", "1e-3")[0] == 0


def test_rows_without_answers_are_none_to_compare_with(folder: Path, capsys: Captured) -> None:
    code, _, err = call(capsys, "check", "flowers.yaml", "--expect", "rows.parquet")
    assert code == 1
    assert "'rows.parquet' has no answers to compare with" in err


def test_rows_that_fail_are_not_locked(folder: Path, capsys: Captured) -> None:
    rows = pd.read_parquet("rows.parquet")
    rows.at[7, "x"] = [1.0, 2.0]
    rows.to_parquet("bad.parquet")
    before = Path("flowers.lock.yaml").read_bytes()
    code, _, err = call(capsys, "lock", "flowers.yaml", "--rows", "bad.parquet")
    assert code == 1
    assert "'bad.parquet' cannot be locked: row 8 fails" in err
    assert len(err.splitlines()) == 1
    assert Path("flowers.lock.yaml").read_bytes() == before
    assert not list(folder.glob(".*.part"))


def test_failures_that_a_policy_hides_are_not_locked(folder: Path, capsys: Captured) -> None:
    text = flowers.FILE.replace("inputs: [x], outputs", "on_error: nullify, inputs: [x], outputs")
    Path("flowers.yaml").write_text(text.replace("    labels: [setosa", "    quorum: 1\n    labels: [setosa"))
    rows = pd.read_parquet("rows.parquet")
    rows.at[7, "x"] = [float("inf"), 2.0, 3.0, 4.0]
    rows.to_parquet("bad.parquet")
    code, _, err = call(capsys, "lock", "flowers.yaml", "--rows", "bad.parquet")
    assert code == 1
    assert "row 8 fails, which its 'on_error' hides: node 'linear'" in err


def test_answers_that_depend_on_other_rows_are_not_locked(folder: Path, capsys: Captured) -> None:
    (folder / "ranks.py").write_text(
        "import numpy as np\n\n\ndef shifted(x):\n    return (x - x.mean(axis=0)).sum(axis=1)\n"
    )
    Path("flowers.yaml").write_text(
        'ensemble: flowers\ninputs: {x: "array<double>[4]"}\nnodes:\n'
        "  ranks: {apply: python, function: ranks.shifted, inputs: [x], outputs: {rank: double}}\n"
    )
    code, _, err = call(capsys, "lock", "flowers.yaml", "--rows", "rows.parquet", "--code", ".")
    assert code == 1
    assert "node 'ranks' answers row 1 otherwise in a batch of 1 than in one of 150 ('rank')" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: os.remove("flowers.lock.yaml"), "'flowers.yaml' has no lock; write one with"),
        (lambda: os.remove("flowers.lock.parquet"), "the golden rows"),
        (lambda: Path("flowers.lock.parquet").write_bytes(b"other"), "its SHA-256 is another"),
        (lambda: Path("flowers.lock.yaml").write_text("ensemble: x\n"), "is not a lock of format 1"),
        (lambda: Path("flowers.lock.yaml").write_text("format: 2\n"), "update beam-ensembles here"),
        (lambda: Path("flowers.lock.yaml").write_text("format: 1\nensemble: 3\n"), "is damaged at"),
        (lambda: Path("flowers.lock.yaml").write_text("{"), "is not a lock"),
        (
            lambda: Path("flowers.yaml").write_text(
                flowers.FILE.replace("ensemble: flowers", "ensemble: fl")
            ),
            "is the lock of another ensemble, 'flowers'",
        ),
    ],
)
def test_what_is_wrong_with_a_lock_is_one_sentence(
    change: object, said: str, folder: Path, capsys: Captured
) -> None:
    assert callable(change)
    change()
    code, out, err = call(capsys, "check", "flowers.yaml")
    assert (code, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_lock_that_is_cut_anywhere_is_refused_in_a_sentence(made: Path) -> None:
    text = (made / "flowers.lock.yaml").read_text()
    for end in range(0, len(text) - 40, 97):
        with pytest.raises(BadLock, match="lock"):
            parse_lock(text[:end], "flowers.lock.yaml")


def test_validate_warns_of_a_stale_lock(folder: Path, capsys: Captured) -> None:
    assert call(capsys, "validate", "flowers.yaml")[2] == ""
    joblib.dump(flowers.forest(seed=3), "forest.joblib")
    Path("flowers.yaml").write_text(flowers.FILE.replace("< 0.7", "< 0.8"))
    code, _, err = call(capsys, "validate", "flowers.yaml")
    assert code == 0
    assert "the lock" in err
    assert "is stale: node 'doubt' is another one, the file 'forest.joblib' is another one" in err


def test_a_bundle_carries_its_lock(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEAM_ENSEMBLES_CACHE", os.fspath(folder / "cache"))
    assert call(capsys, "pack", "flowers.yaml", "--output", "flowers.ensemble.zip")[0] == 0
    os.remove("flowers.lock.yaml")
    code, out, _ = call(capsys, "check", "flowers.ensemble.zip")
    assert code == 0, out
    assert "the answers of all 150 rows are the same" in out
    assert call(capsys, "validate", "flowers.ensemble.zip")[2] == ""


def test_a_thousand_golden_rows_of_digits_are_checked_within_a_second(tmp_path: Path) -> None:
    """The models are loaded before; the processor's time, so that other programs do not count."""
    images, digits = load_digits(return_X_y=True)
    joblib.dump(LogisticRegression(max_iter=200).fit(images, digits), tmp_path / "linear.joblib")
    joblib.dump(RandomForestClassifier(50, random_state=0).fit(images, digits), tmp_path / "forest.joblib")
    pd.DataFrame({"x": images.tolist()}).to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "digits.yaml").write_text(
        'ensemble: digits\ninputs: {x: "array<double>[64]"}\nnodes:\n'
        "  linear: {model: sklearn, uri: linear.joblib, method: predict_proba, inputs: [x],"
        ' outputs: {one: "array<double>[10]"}}\n'
        "  forest: {model: sklearn, uri: forest.joblib, method: predict_proba, inputs: [x],"
        ' outputs: {two: "array<double>[10]"}}\n'
        "  vote: {combine: soft_vote, inputs: [one, two], outputs: {digit: {from: label, type: int64}}}\n"
    )
    file, lock = os.fspath(tmp_path / "digits.yaml"), os.fspath(tmp_path / "digits.lock.yaml")
    ensemble = loaded(file, {}, ())
    write_lock(ensemble, os.fspath(tmp_path / "rows.parquet"), 1_000, lock, lambda _: None)
    start = time.process_time()
    report = check_lock(ensemble, lock)
    took = time.process_time() - start
    assert report.is_same
    assert report.behaviour is not None
    assert report.behaviour.rows == 1_000
    assert took < 1
