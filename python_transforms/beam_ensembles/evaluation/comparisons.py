"""Whether differences are more than chance: paired bootstrap, McNemar's test, slices against the other rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np

RESAMPLES: Final = 1_000
CONFIDENCE: Final = 0.95
_AT_ONCE: Final = 1 << 21
"""Rows of resamples that are in memory together, 8 bytes each."""
LEAST_ROWS: Final = 20
"""Slices of fewer rows are shown, but not judged."""


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference with its confidence interval.

    Attributes:
        value: The mean of what was given.
        low: The lower end of the interval.
        high: The upper end.
    """

    value: float
    low: float
    high: float

    @property
    def is_certain(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


def bootstrap(differences: np.ndarray, seed: int) -> list[Difference]:
    """Returns the mean of each column with a 95 % interval: percentiles of paired resamples of the rows.

    Args:
        differences: What two subjects differ by on each row, a column per pair, ``[N, n]``.
        seed: Of the resampling; the same seed gives the same interval.
    """
    count = len(differences)
    drawn = np.random.default_rng(seed)
    means = np.empty((RESAMPLES, differences.shape[1]))
    together = min(RESAMPLES, max(1, _AT_ONCE // count))
    often = np.empty((together, count))  # of floats, and many at once: matrices are multiplied fast
    for start in range(0, RESAMPLES, together):
        some = often[: RESAMPLES - start]
        for one in some:
            one[:] = np.bincount(drawn.integers(0, count, count), minlength=count)
        means[start : start + len(some)] = some @ differences / count
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(means, (tail, 100 - tail), axis=0)
    whole = differences.mean(axis=0)
    return [
        Difference(float(whole[at]), float(low[at]), float(high[at])) for at in range(differences.shape[1])
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's exact test of two classifiers on the same rows.

    Attributes:
        better: Rows on which the first is right and the second wrong.
        worse: Rows on which it is the other way round.
        p_value: The two-sided p-value.
    """

    better: int
    worse: int
    p_value: float


def mcnemar(first_wrong: np.ndarray, second_wrong: np.ndarray) -> McNemar:
    """Compares two classifiers by the rows on which one of them is wrong."""
    from scipy.stats import binomtest

    better = int(np.count_nonzero((first_wrong == 0) & (second_wrong == 1)))
    worse = int(np.count_nonzero((first_wrong == 1) & (second_wrong == 0)))
    both = better + worse
    return McNemar(better, worse, float(binomtest(better, both, 0.5).pvalue) if both else 1.0)


def worse_than_others(losses: np.ndarray, slices: np.ndarray, count: int, *, are_counts: bool) -> list[float]:
    """Returns for each slice how likely chance alone makes its mean loss so much greater than that of the other rows.

    Args:
        losses: A loss per row, ``[N]``.
        slices: Which slice each row is in, ``[N]``.
        count: How many slices there are.
        are_counts: Whether losses are 0 or 1; then Fisher's exact test is taken, else Welch's.

    Returns:
        One-sided p-values, corrected for the number of slices (Holm); 1 for slices of too few rows.
    """
    found = [1.0] * count
    for at in range(count):
        inside = slices == at
        rows = int(np.count_nonzero(inside))
        if rows >= LEAST_ROWS and len(losses) - rows >= LEAST_ROWS:
            found[at] = (_fisher if are_counts else _welch)(losses[inside], losses[~inside])
    return _holm(found)


def _fisher(own: np.ndarray, others: np.ndarray) -> float:
    from scipy.stats import fisher_exact

    table = [
        [int(own.sum()), int(len(own) - own.sum())],
        [int(others.sum()), int(len(others) - others.sum())],
    ]
    return float(fisher_exact(table, alternative="greater").pvalue)


def _welch(own: np.ndarray, others: np.ndarray) -> float:
    from scipy.stats import ttest_ind

    if not own.var() and not others.var():
        return 1.0 if own.mean() <= others.mean() else 0.0
    return float(ttest_ind(own, others, equal_var=False, alternative="greater").pvalue)


def _holm(values: Sequence[float]) -> list[float]:
    order = np.argsort(values, kind="stable")
    found, least = [1.0] * len(values), 0.0
    for step, at in enumerate(order.tolist()):
        least = max(least, min(1.0, values[at] * (len(values) - step)))
        found[at] = least
    return found
