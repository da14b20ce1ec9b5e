"""How far counts are from those of a profile: by the population stability index, and beyond chance by a G-test.

The index, ``sum((p - q) ln(p / q))`` over the cells of a column, says how large a change is, whatever the rows. How
large it becomes by chance depends on them: where nothing has changed, the index of ``n`` rows against ``N`` is about
``(1/n + 1/N)`` times a chi-square with one degree of freedom less than there are cells. That holds only where no cell
is nearly empty. The G statistic of two samples, which the index nears, keeps to that chi-square with rare cells too.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import numpy as np

ALPHA: Final = 0.001
"""How likely a false alarm is of all columns and all windows of a worker together."""
LEAST_INDEX: Final = 0.1
"""A smaller index is too small a change to matter, however certain it is."""
_SMOOTHING: Final = 0.5


def stability_index(seen: np.ndarray, learned: np.ndarray, is_cell: np.ndarray) -> np.ndarray:
    """Returns what each cell adds to the population stability index, ``[comparisons, cells]``.

    Args:
        seen: Counts of each cell, ``[comparisons, cells]``.
        learned: Those of the profile.
        is_cell: Which cells a comparison has; the others are padding.
    """
    p, q = (_shares(counts, is_cell) for counts in (seen, learned))
    found: np.ndarray = np.where(is_cell, (p - q) * np.log(p / q), 0.0)
    return found


def _shares(counts: np.ndarray, is_cell: np.ndarray) -> np.ndarray:
    smoothed = np.where(is_cell, counts + _SMOOTHING, 1.0)
    total = np.where(is_cell, smoothed, 0.0).sum(axis=1, keepdims=True)
    found: np.ndarray = smoothed / total
    return found


def g_statistic(seen: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """Returns the G statistic of two samples for each comparison: twice the log-likelihood ratio of their multinomials.

    The arguments are those of ``stability_index``.
    """
    rows, known = seen.sum(axis=1, keepdims=True), learned.sum(axis=1, keepdims=True)
    both = (seen + learned) / np.maximum(rows + known, 1)
    both_ways = _information(seen, rows * both) + _information(learned, known * both)
    found: np.ndarray = 2 * both_ways.sum(axis=1)
    return found


def _information(counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    is_there = counts > 0
    ratio = np.divide(counts, expected, out=np.ones(counts.shape), where=is_there)
    found: np.ndarray = counts * np.log(ratio)
    return found


def critical_values(freedom: np.ndarray, window: int) -> np.ndarray:
    """Returns what G exceeds by chance, in any comparison and any window, in one of ``1 / ALPHA`` runs.

    Of that chance the k-th window gets ``6 / (pi k)^2``, which all windows of an endless stream share. The quantiles of
    chi-square are those of Wilson and Hilferty (1931): too large by some per cent, so rather on the safe side.

    Args:
        freedom: The degrees of freedom of each comparison.
        window: The number of the window, from 1.
    """
    chance = ALPHA * 6 / (math.pi * window) ** 2 / max(len(freedom), 1)
    z = -NormalDist().inv_cdf(chance)
    part = 2 / (9 * np.maximum(freedom, 1))
    found: np.ndarray = np.maximum(freedom, 1) * (1 - part + z * np.sqrt(part)) ** 3
    return found
