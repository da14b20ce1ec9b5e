"""``apply: calibrate``: its values are those of scikit-learn, and ``tune`` fits it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from beam_ensembles.cli.main import main
from beam_ensembles.functions.calibrators import METHODS, CalibrationError, read_calibration
from beam_ensembles.local.ensemble import Ensemble
from beam_ensembles.tuning.fitting_calibrations import fitted

NAMES = {"platt": "sigmoid", "isotonic": "isotonic", "temperature": "temperature"}
FILE = """\
ensemble: cells
inputs: {x: "array<double>[6]"}
nodes:
  bayes: {model: sklearn, uri: bayes.joblib, method: predict_proba, inputs: [x], outputs: {p: "array<double>[3]"}}
  calibrated:
    apply: calibrate
    file: calibration.json    # fitted by tune
    inputs: [p]
    outputs: {q: {from: probabilities}}
"""


def rows(classes: int) -> tuple[Any, Any]:
    return make_classification(
        1500, 6, n_informative=5, n_redundant=1, n_classes=classes, flip_y=0.1, random_state=classes
    )


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_the_values_are_scikit_learns(tmp_path: Path, method: str, classes: int) -> None:
    x, y = rows(classes)
    bayes = GaussianNB().fit(x[:500], y[:500])
    theirs = CalibratedClassifierCV(FrozenEstimator(bayes), method=NAMES[method], ensemble=False)
    theirs.fit(x[500:1000], y[500:1000])
    found = fitted(bayes.predict_proba(x[500:1000]), y[500:1000], method)
    (tmp_path / "one.json").write_bytes(found.text())
    again = read_calibration(str(tmp_path / "one.json"))
    assert again == found
    ours = again(bayes.predict_proba(x[1000:]))
    np.testing.assert_allclose(ours, theirs.predict_proba(x[1000:]), rtol=1e-9, atol=1e-9)


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    x, y = rows(3)
    joblib.dump(GaussianNB().fit(x[:500], y[:500]), tmp_path / "bayes.joblib")
    (tmp_path / "cells.yaml").write_text(FILE)
    pq.write_table(pa.table({"x": x[500:].tolist(), "kind": y[500:]}), tmp_path / "rows.parquet")
    return tmp_path


def test_tune_fits_writes_and_pins_it(cells: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["tune", str(cells / "cells.yaml"), "--input", str(cells / "rows.parquet"), "--label", "kind"]
    assert main([*call, "--calibrate", "calibrated", "--method", "platt", "--write", "--json"]) == 0, (
        capsys.readouterr().err
    )
    data = json.loads(capsys.readouterr().out)
    assert data["measures"][0]["after"] < data["measures"][0]["before"]
    digest = hashlib.sha256((cells / "calibration.json").read_bytes()).hexdigest()
    new = (cells / "cells.yaml").read_text().splitlines()
    assert [line for line in new if line not in FILE.splitlines()] == [f'    sha256: "{digest}"']
    table = pq.read_table(cells / "rows.parquet")
    x, y = rows(3)
    order = np.random.default_rng(0).permutation(1000)
    used = np.sort(order[300:])
    bayes = joblib.load(cells / "bayes.joblib")
    theirs = CalibratedClassifierCV(FrozenEstimator(bayes), method="sigmoid", ensemble=False)
    theirs.fit(x[500:][used], y[500:][used])
    found = Ensemble(cells / "cells.yaml").predict(table)["q"].to_pylist()
    np.testing.assert_allclose(found, theirs.predict_proba(x[500:]), rtol=1e-9, atol=1e-9)
    assert main([*call, "--calibrate", "calibrated", "--write"]) == 0
    assert "temperature" in (cells / "calibration.json").read_text()
    assert main(["validate", str(cells / "cells.yaml")]) == 0


def test_folds_judge_each_row_by_what_the_others_say(cells: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["tune", str(cells / "cells.yaml"), "--input", str(cells / "rows.parquet"), "--label", "kind"]
    flags = ["--calibrate", "calibrated", "--method", "platt", "--folds", "5", "--write", "--json"]
    assert main([*call, *flags]) == 0, capsys.readouterr().err
    data = json.loads(capsys.readouterr().out)
    assert (data["tuned_on"], data["held_out"], data["folds"]) == (1000, 1000, 5)
    x, y = rows(3)
    shares = joblib.load(cells / "bayes.joblib").predict_proba(x[500:])
    fair = np.zeros_like(shares)
    for part in np.array_split(np.random.default_rng(0).permutation(1000), 5):
        rest = np.setdiff1d(np.arange(1000), part)
        fair[part] = fitted(shares[rest], y[500:][rest], "platt")(shares[part])
    assert data["measures"][0]["after"] == pytest.approx(log_loss(y[500:], fair))
    assert read_calibration(str(cells / "calibration.json")) == fitted(shares, y[500:], "platt")


def test_a_file_that_is_none(cells: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(cells / "cells.yaml")]) == 1
    (cells / "calibration.json").write_text('{"method": "platt", "classes": 2, "a": [-3.0], "b": [1.0]}')
    capsys.readouterr()
    assert main(["validate", str(cells / "cells.yaml")]) == 1
    assert "the calibration is of 2 classes, but 'p' has 3" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "has no 'method'"),
        ("{", "not JSON"),
        ('{"method": "temperature", "temperature": 0}', "above 0"),
        ('{"method": "platt", "classes": 3, "a": [1], "b": [1]}', "lists of 3"),
        ('{"method": "isotonic", "classes": 2, "x": [[0.5, 0.1]], "y": [[0, 1]]}', "must rise"),
        ('{"method": "isotonic", "classes": 2, "x": [[0.1, 0.5]], "y": [[0, 2]]}', "from 0 to 1"),
        ('{"method": "platt", "classes": 2, "a": [1], "b": [1], "c": 1}', "the keys of 'platt'"),
    ],
)
def test_what_a_file_may_not_say(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(CalibrationError, match=said):
        read_calibration(str(tmp_path / "one.json"))


def test_a_row_without_probabilities_fails_alone(cells: Path) -> None:
    (cells / "calibration.json").write_text('{"method": "temperature", "temperature": 2.0}')
    text = FILE.replace("array<double>[6]", "array<double>[3]").replace(
        "inputs: [x], outputs: {p", "inputs: [x], outputs: {z"
    )
    text = text.replace("inputs: [p]", "inputs: [x]")
    lines = [line for line in text.splitlines() if "bayes" not in line]
    (cells / "only.yaml").write_text("\n".join(lines))
    scored, failed = Ensemble(cells / "only.yaml").predict(
        [{"x": [0.2, 0.3, 0.5]}, {"x": [3.0, 0.0, 0.0]}, {"x": [float("nan"), 0.5, 0.5]}], errors="split"
    )
    (row,) = scored
    roots = np.sqrt([0.2, 0.3, 0.5])
    np.testing.assert_allclose(row["q"], roots / roots.sum(), rtol=1e-9)
    assert [one["error_code"] for one in failed] == ["not_probabilities"] * 2
