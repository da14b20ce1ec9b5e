"""Ensembles for pipelines that do not end, and the models that they are given while they run.

``write`` makes in a folder ``times.yaml``, whose two stages multiply by what ``first.joblib`` and ``second.joblib``
say, ``times_3.yaml``, which takes other models, ``waits.yaml``, whose rows wait for others, and ``line_N.joblib``,
which multiply by N.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import joblib
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


def write(folder: Path) -> None:
    """Writes the files and the models into a folder."""
    for slope in (1, 2, 3):
        save_line(folder / f"line_{slope}.joblib", slope)
    (folder / "times.yaml").write_text(times("first", "second"), encoding="utf-8")
    (folder / "times_3.yaml").write_text(times("line_3", "line_3"), encoding="utf-8")
    waits = WAITS.replace("line.joblib", "line_1.joblib").replace("MAX_WAIT", str(_AN_HOUR))
    (folder / "waits.yaml").write_text(waits, encoding="utf-8")
