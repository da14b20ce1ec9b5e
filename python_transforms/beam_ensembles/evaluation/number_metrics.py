"""Metrics of answers that are numbers, with scikit-learn's functions."""

from __future__ import annotations

from typing import Final

import numpy as np

from beam_ensembles.evaluation.scikit_learn import metric_functions

NAMES: Final = {"mae": "MAE", "rmse": "RMSE", "r2": "R2", "pinball": "pinball"}
"""The metrics with their names on tables."""


def number_metrics(true: np.ndarray, found: np.ndarray, quantile: float) -> dict[str, float | None]:
    """Returns the metrics of numbers.

    Args:
        true: The known answers, ``[N]``.
        found: The answers, ``[N]``.
        quantile: The quantile of the pinball loss, between 0 and 1.
    """
    if not len(true):
        return dict.fromkeys(NAMES)
    functions = metric_functions()
    return {
        "mae": float(functions.mean_absolute_error(true, found)),
        "rmse": float(functions.root_mean_squared_error(true, found)),
        "r2": float(functions.r2_score(true, found)) if len(true) > 1 else None,
        "pinball": float(functions.mean_pinball_loss(true, found, alpha=quantile)),
    }
