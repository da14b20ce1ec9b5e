"""Ensembles for pipelines that do not end, and the models that they are given while they run.

``write`` makes in a folder ``times.yaml``, whose two stages multiply by what ``first.joblib`` and ``second.joblib``
say, ``times_3.yaml``, which takes other models, ``waits.yaml``, whose rows wait for others, and ``line_N.joblib``,
which multiply by N. ``gated.yaml`` is ``times.yaml`` with a gate; ``gated.lock.*`` is its lock where both models
multiply by 1, and ``gated_3.lock.*`` where both multiply by 3.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import joblib
import pandas as pd
from sklearn.linear_model import LinearRegression

TIMES: Final = """
ensemble: times
inputs: {x: double}
nodes:
  first: {model: sklearn, uri: FIRST.joblib, inputs: [x], outputs: {one: double}}
  second: {model: sklearn, uri: SECOND.joblib, stage: own, inputs: [x], outputs: {two: double}}
outputs: [one, two]
"""
"""Where rows of two versions would be scored by a mixture, one and two are not the same."""

GATE: Final = "refresh: {gate: lock, max_shift: {one: 0.5, two: 0.5}}\n"

WAITS: Final = """
ensemble: waits
inputs: {x: double}
nodes:
  deep:
    model: sklearn
    uri: line.joblib
    when: "x >= 0"
    batch: {max: 4, max_wait: MAX_WAIT}
    inputs: [x]
    outputs: {deep: double}
outputs: [deep]
"""
_AN_HOUR: Final = 3_600


def times(first: str, second: str) -> str:
    """Returns the file whose stages run two models, named without their ending."""
    return TIMES.replace("FIRST", first).replace("SECOND", second)


def save_line(path: Path, slope: int) -> None:
    """Saves a model that multiplies by a number."""
    joblib.dump(LinearRegression(fit_intercept=False).fit([[0.0], [1.0]], [0.0, slope]), path)


def write_lock(folder: Path, text: str, name: str, **models: int) -> list[Path]:
    """Writes the lock of an ensemble, as if it lay in a folder with other models.

    Args:
        folder: Where the lock goes.
        text: The ensemble file.
        name: What the lock's files are called, before ``.lock.yaml`` and ``.lock.parquet``.
        models: By what each model multiplies.

    Returns:
        The golden rows and the lock.
    """
    from beam_ensembles.cli.locking import loaded
    from beam_ensembles.cli.locking import write_lock as lock

    with tempfile.TemporaryDirectory() as other:
        file, rows = Path(other, f"{name}.yaml"), Path(other, "rows.parquet")
        file.write_text(text, encoding="utf-8")
        for model, slope in models.items():
            save_line(Path(other, f"{model}.joblib"), slope)
        pd.DataFrame({"x": [1.0, 2.0, 3.0]}).to_parquet(rows)
        output = Path(other, f"{name}.lock.yaml")
        lock(loaded(os.fspath(file), {}, ()), os.fspath(rows), 3, os.fspath(output), lambda _: None)
        made = (f"{name}.lock.parquet", f"{name}.lock.yaml")
        return [Path(shutil.copy(Path(other, one), folder)) for one in made]


def write(folder: Path) -> None:
    """Writes the files and the models into a folder."""
    for slope in (1, 2, 3):
        save_line(folder / f"line_{slope}.joblib", slope)
    (folder / "times.yaml").write_text(times("first", "second"), encoding="utf-8")
    (folder / "times_3.yaml").write_text(times("line_3", "line_3"), encoding="utf-8")
    waits = WAITS.replace("line.joblib", "line_1.joblib").replace("MAX_WAIT", str(_AN_HOUR))
    (folder / "waits.yaml").write_text(waits, encoding="utf-8")
    gated = times("first", "second") + GATE
    (folder / "gated.yaml").write_text(gated, encoding="utf-8")
    write_lock(folder, gated, "gated", first=1, second=1)
    write_lock(folder, gated, "gated_3", first=3, second=3)
