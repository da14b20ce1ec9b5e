"""Shares that hold beyond the rows they were counted on: exact binomial tests, in an order that was fixed before.

Fixed-sequence testing as in "Learn then Test" (Angelopoulos et al., 2021, https://arxiv.org/abs/2110.01052): candidates
are tested one after another, each at the full level, until the first that fails. All that passed hold together with the
stated confidence, as long as the order does not depend on the rows that are counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_MOST_ROWS = 100_000_000


def p_values(right: np.ndarray, count: np.ndarray, least: float) -> np.ndarray:
    """Returns how likely so many or more rows would be right if the true share were ``least``, ``[candidates]``.

    Args:
        right: The rows that are right, ``[candidates]``.
        count: The rows that count, ``[candidates]``; where there are none the p-value is 1.
        least: The target.
    """
    from scipy.stats import binom

    return np.where(count > 0, binom.sf(right - 1, np.maximum(count, 1), least), 1.0)


def lower_bound(right: float, count: float, confidence: float) -> float:
    """Returns the one-sided bound of Clopper and Pearson: the true share is greater with this confidence."""
    from scipy.stats import beta

    return float(beta.ppf(1 - confidence, right, count - right + 1)) if right > 0 else 0.0


def passed(found: Sequence[float], confidence: float) -> int:
    """Returns how many of the first candidates pass, by their p-values in the order in which they are tested."""
    for at, value in enumerate(found):
        if value > 1 - confidence:
            return at
    return len(found)


def rows_without_a_miss(least: float, confidence: float) -> int:
    """Returns how many rows a target needs at least, if all of them are right."""
    return math.ceil(math.log(1 - confidence) / math.log(least))


def rows_needed(share: float, least: float, confidence: float) -> int | None:
    """Returns about how many rows show that a share exceeds the target; None where it does not, or hardly."""
    if share <= least:
        return None
    low, high = 1, rows_without_a_miss(least, confidence)
    while lower_bound(share * high, high, confidence) < least:
        low, high = high, high * 2
        if high > _MOST_ROWS:
            return None
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        if lower_bound(share * middle, middle, confidence) < least:
            low = middle
        else:
            high = middle
    return high
