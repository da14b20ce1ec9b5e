"""The two models of the light ensemble, and their mean."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import joblib
import numpy as np

from tests.benchmarks.bare import Array, Columns, Score

ROWS: Final = 1_024
OUTPUTS: Final[Mapping[str, str]] = {"proba": "array<double>"}
ANSWER: Final = ("proba", 1)


def load(models: Path) -> Score:
    """Loads both models."""
    linear, forest = (joblib.load(models / f"{name}.joblib") for name in ("linear", "forest"))

    def score(columns: Columns) -> dict[str, Array]:
        batch = np.column_stack([columns[name] for name in "abcd"])
        return {"proba": (linear.predict_proba(batch) + forest.predict_proba(batch)) / 2}

    return score
