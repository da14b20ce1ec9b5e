"""Certified cut-offs: their bounds are scipy's, and over many draws they miss no more often than they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from beam_ensembles.tuning.certifying import lower_bound, p_values, passed, rows_needed, rows_without_a_miss
from beam_ensembles.tuning.choosing import grid
from beam_ensembles.tuning.targets import AGREEMENT, Target
from tests.benchmarks.certified import Pool, Sums, bounds_of, measure

SPLITS = 300


def test_bounds_are_those_of_clopper_and_pearson() -> None:
    for right, count in ((0, 10), (7, 10), (10, 10), (980, 1000)):
        test = binomtest(right, count, 0.9, alternative="greater")
        assert lower_bound(right, count, 0.95) == pytest.approx(test.proportion_ci(0.95).low)
        assert p_values(np.array([right]), np.array([count]), 0.9)[0] == pytest.approx(test.pvalue)
    assert p_values(np.array([0]), np.array([0]), 0.9)[0] == 1


def test_the_sequence_ends_at_the_first_that_fails() -> None:
    assert passed([0.01, 0.05, 0.06, 0.01], 0.95) == 2
    assert passed([0.2], 0.95) == 0
    assert passed([0.01], 0.95) == 1


def test_how_many_rows_are_needed() -> None:
    assert rows_without_a_miss(0.98, 0.95) == 149
    assert lower_bound(149, 149, 0.95) >= 0.98 > lower_bound(148, 148, 0.95)
    assert rows_needed(0.97, 0.98, 0.95) is None
    needed = rows_needed(0.99, 0.98, 0.95)
    assert needed is not None
    assert lower_bound(0.99 * needed, needed, 0.95) >= 0.98
    assert lower_bound(0.99 * needed * 0.98, needed * 0.98, 0.95) < 0.98


def test_certified_cut_offs_miss_no_more_often_than_they_say() -> None:
    random = np.random.default_rng(0)
    sure = random.uniform(0.5, 1, 6_000)
    expensive = random.integers(0, 2, 6_000)
    cheap = np.where(random.uniform(size=6_000) < sure, expensive, 1 - expensive)
    found = measure(
        Pool("made up", sure, cheap, expensive, expensive), Target(AGREEMENT, 0.97, "big"), SPLITS
    )
    assert found.misses <= binom.ppf(0.999, SPLITS, 0.05) / SPLITS
    assert found.by_eye > 0.25
    assert found.unreached == 0
    assert found.limit is not None
    assert found.exact is not None
    assert found.limit < found.exact < found.sent
    assert found.hindsight < found.sent < 1.2 * found.hindsight


@pytest.mark.parametrize("sign", [1, -1])
def test_candidates_separate_all_values_where_these_are_few(sign: int) -> None:
    """Shares of a tree's leaves, such as 2/3, have no last digit."""
    values = sign * np.array([one / 30 for one in range(1, 30)] * 100 + [np.nan])
    found = grid(values, 201)
    below = {int(np.count_nonzero(values < cut)) for cut in found}
    assert below == {100 * at for at in range(30)}
    assert all(len(f"{abs(cut):.12g}".lstrip("0.")) <= 6 for cut in found), "short enough for a file"


def test_the_bounds_are_means_of_the_most_powerful_tests() -> None:
    """Of two cut-offs one sends nothing on: it is chosen where the test of it rejects, with lots or without."""
    right = np.arange(1_000) >= 15
    pool = Pool("two", np.full(1_000, 0.5), right.astype(int), np.ones(1_000, int), np.ones(1_000, int))
    target = Target(AGREEMENT, 0.97, "big")
    random = np.random.default_rng(0)
    wrong, edge = random.binomial(200, 0.015, 200_000), int(binom.ppf(0.05, 200, 0.03))
    below = binom.cdf(edge - 1, 200, 0.03)
    chance = (0.05 - below) / binom.pmf(edge, 200, 0.03)
    rejects = (wrong < edge) | ((wrong == edge) & (random.uniform(size=len(wrong)) < chance))
    bounds = bounds_of(Sums(pool, target), target, 200)
    assert bounds is not None
    assert bounds.limit == pytest.approx(1 - rejects.mean(), abs=0.005)
    assert bounds.exact == pytest.approx(1 - (wrong < edge).mean(), abs=0.005)
