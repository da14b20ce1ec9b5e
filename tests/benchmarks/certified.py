"""``python -m tests.benchmarks.certified``: how often certified cut-offs miss their target, and what that costs.

Five data sets, a cheap and an expensive model each. Each split draws labelled rows from a pool, with replacement, so
that the true share of every cut-off is known: it is that of the pool.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from beam_ensembles.tuning.choosing import MOST_VALUES, Counts, Parts, choose, grid
from beam_ensembles.tuning.targets import ACCURACY, AGREEMENT, Target

SPLITS: Final = 1_000
LABELS: Final = 2_000
HELD: Final = 857
"""Rows held out beside 2,000 to tune on: three in ten."""
CONFIDENCE: Final = 0.95
AGREES: Final = Target(AGREEMENT, 0.98, "expensive")
LOSES: Final = 0.02
"""What the accuracy may lose against the expensive model's, as the other target."""
_POOL: Final = 6_000

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """What two models answer for the rows of a data set.

    Attributes:
        name: The data set.
        confidence: How sure the cheap model is, ``[N]``.
        cheap: The class that it answers, ``[N]``.
        expensive: The class that the expensive model answers, ``[N]``.
        true: The class, ``[N]``.
    """

    name: str
    confidence: Array
    cheap: Array
    expensive: Array
    true: Array

    def right(self, target: Target) -> tuple[Array, Array]:
        """Returns whether each row is right if it stays with the cheap model, and if it is sent on."""
        if target.measure == ACCURACY:
            return self.cheap == self.true, self.expensive == self.true
        return self.cheap == self.expensive, np.ones(len(self.true), np.bool_)


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What the splits of one data set and target show.

    Attributes:
        data: The data set.
        target: The target.
        misses: The share of the splits whose certified cut-off misses the target.
        by_eye: The share of the splits in which the cheapest cut-off that reaches it on the labelled rows misses it.
        unreached: The share of the splits in which no cut-off is certain.
        sent: The mean share of rows that certified cut-offs send on.
        hindsight: The share that the best cut-off sends on.
        exact: The share that an exact test of every cut-off sends on in the mean; None where a higher cut-off can be
            worse, as for an accuracy.
        limit: The share that every method with this guarantee sends on at least, and None as there.
    """

    data: str
    target: str
    misses: float
    by_eye: float
    unreached: float
    sent: float
    hindsight: float
    exact: float | None
    limit: float | None

    def times(self, sent: float | None) -> str:
        """Returns how many times as many rows a share is as the best cut-off sends on, as text."""
        return f"{sent / self.hindsight:.2f}" if sent is not None and self.hindsight else "-"


def _noisy(x: Array, y: Array, rows: int, noise: float, seed: int) -> tuple[Array, Array]:
    """Returns rows drawn from others, with noise: small data sets have too few for thousands of labels."""
    random = np.random.default_rng(seed)
    drawn = random.integers(0, len(x), rows)
    return x[drawn] + random.normal(0, noise, (rows, x.shape[1])) * x.std(axis=0), y[drawn]


_SMALL: Final = {
    "digits": (load_digits, 0.6),
    "breast cancer": (load_breast_cancer, 0.6),
    "wine": (load_wine, 0.8),
}
_MADE: Final = {
    "synthetic, linear": (1.2, 0.01, LogisticRegression(max_iter=300)),
    "synthetic, tree": (1.6, 0.0, DecisionTreeClassifier(max_depth=6, min_samples_leaf=10, random_state=0)),
}
DATA: Final = (*_SMALL, *_MADE)


def pool_of(name: str) -> Pool:
    """Returns one of the data sets, by its name in ``DATA``."""
    if name in _SMALL:
        load, noise = _SMALL[name]
        x, y = load(return_X_y=True)
        train, rest = _noisy(x[::2], y[::2], 2_000, noise, 1), _noisy(x[1::2], y[1::2], _POOL, noise, 2)
        return _pool(name, train, rest, LogisticRegression(max_iter=300))
    separation, flips, cheap = _MADE[name]
    x, y = make_classification(
        3_000 + _POOL, 12, n_informative=8, class_sep=separation, flip_y=flips, random_state=3
    )
    return _pool(name, (x[:3_000], y[:3_000]), (x[3_000:], y[3_000:]), cheap)


def targets_of(pool: Pool) -> tuple[Target, ...]:
    """Returns what is asked of the cut-offs of a data set."""
    least = float((pool.expensive == pool.true).mean()) - LOSES
    return AGREES, Target(ACCURACY, round(least, 3))


def _pool(name: str, train: tuple[Array, Array], rest: tuple[Array, Array], cheap: Any) -> Pool:
    small = make_pipeline(StandardScaler(), cheap).fit(*train)
    large = RandomForestClassifier(200, min_samples_leaf=2, n_jobs=1, random_state=0).fit(*train)
    shares = small.predict_proba(rest[0])
    classes = small.classes_[shares.argmax(axis=1)]
    return Pool(name, shares.max(axis=1), classes, large.predict(rest[0]), rest[1])


class Sums:
    """Counts of rows above a cut-off, for all cut-offs at once."""

    def __init__(self, pool: Pool, target: Target, rows: Array | None = None) -> None:
        kept, sent = pool.right(target)
        confidence = pool.confidence
        if rows is not None:
            kept, sent, confidence = kept[rows], sent[rows], confidence[rows]
        order = np.argsort(confidence, kind="stable")
        self.confidence, self.count = confidence[order], len(order)
        gone = np.concatenate([[0], np.cumsum(sent[order])])
        stay = np.concatenate([[0], np.cumsum(kept[order])])
        self._right = gone + stay[-1] - stay

    def at(self, cut: float) -> tuple[int, int]:
        """Returns how many rows are right, and how many are sent on, where those below a cut-off are."""
        place = int(np.searchsorted(self.confidence, cut, side="left"))
        return int(self._right[place]), place

    def counts(self, cut: float) -> Counts:
        """Returns the counts as ``choose`` takes them; a row that is sent on costs 1."""
        right, sent = self.at(cut)
        return Counts((right,), (self.count,), sent / self.count, 0.0)

    def right_at(self, sent: Array) -> Array:
        """Returns how many rows are right where the least sure ones are sent on, by how many these are."""
        return np.asarray(self._right[sent])

    @property
    def steps(self) -> Array:
        """How many rows the different cut-offs send on, from none to all, ``[cut-offs]``."""
        rise = np.concatenate([[True], self.confidence[1:] > self.confidence[:-1], [True]])
        return np.flatnonzero(rise)

    def cheapest(self, least: float) -> float | None:
        """Returns the least cut-off that reaches a share on these rows."""
        steps = self.steps
        good = steps[self._right[steps] >= least * self.count].tolist()
        if not good:
            return None
        return float(self.confidence[good[0]]) if good[0] < self.count else float("inf")


@dataclasses.dataclass(frozen=True, slots=True)
class Bounds:
    """The mean shares of rows that methods send on, of the whole pool.

    Attributes:
        exact: What an exact binomial test at 5 % of every cut-off sends on: the least that a method can which neither
            draws lots nor errs on purpose.
        limit: What every method with this guarantee sends on at least, whatever it does with the labels.
    """

    exact: float
    limit: float


def bounds_of(whole: Sums, target: Target, labels: int) -> Bounds | None:
    """Returns what methods send on that hold for all sources of rows.

    Such a method chooses c, or a lower cut-off, with a probability of at most 5 % where c just misses the target.
    Compare the pool with such a source, in which each row above c is wrong a little more often, in proportion: only the
    number of wrong rows above c tells them apart. So on the pool the method chooses c, or a lower cut-off, no more
    often than the most powerful test rejects (Neyman and Pearson): the exact binomial test, randomized to reject in
    exactly 5 %. Where c misses the target on the pool, it is chosen in 5 % at most. The mean follows from these
    probabilities.

    Args:
        whole: The pool.
        target: What the cut-off must reach; None is returned where a higher cut-off can be worse, as for an accuracy.
        labels: Labelled rows that certify.
    """
    if target.measure != AGREEMENT:
        return None
    steps, level = whole.steps, 1 - CONFIDENCE
    share = whole.right_at(steps) / whole.count
    least = int(binom.isf(level, labels, target.least)) + 1  # fewer right rows are not certain
    surely = binom.sf(least - 1, labels, target.least)
    sometimes = (level - surely) / binom.pmf(least - 1, labels, target.least)
    exactly = binom.sf(least - 1, labels, share)
    chosen = exactly + sometimes * binom.pmf(least - 1, labels, share)
    chosen = np.where(share < target.least, level, chosen)
    exact, limit = ((steps[0] + np.diff(steps) @ (1 - one[:-1])) / whole.count for one in (exactly, chosen))
    return Bounds(float(exact), float(limit))


def measure(pool: Pool, target: Target, splits: int, labels: int = LABELS, seed: int = 0) -> Result:
    """Returns what splits show.

    Args:
        pool: The rows.
        target: What the cut-off must reach.
        splits: How many splits to draw.
        labels: Labelled rows that certify.
        seed: Of the draws.
    """
    random = np.random.default_rng(seed)
    whole, size = Sums(pool, target), len(pool.true)
    best = whole.cheapest(target.least)
    misses = eyed = unreached = 0
    sent = []
    for _ in range(splits):
        used = Sums(pool, target, random.integers(0, size, labels))
        held = Sums(pool, target, random.integers(0, size, HELD))
        cut = _certified(used, held, target)
        if cut is None:
            unreached += 1
            sent.append(1.0)
        else:
            right, count = whole.at(cut)
            misses += right < target.least * size
            sent.append(count / size)
        guess = used.cheapest(target.least)
        eyed += guess is not None and whole.at(guess)[0] < target.least * size
    hindsight = 1.0 if best is None else whole.at(best)[1] / size
    bounds = bounds_of(whole, target, labels)
    return Result(
        pool.name,
        str(target),
        misses=misses / splits,
        by_eye=eyed / splits,
        unreached=unreached / splits,
        sent=float(np.mean(sent)),
        hindsight=hindsight,
        exact=None if bounds is None else bounds.exact,
        limit=None if bounds is None else bounds.limit,
    )


def _certified(used: Sums, held: Sums, target: Target) -> float | None:
    def grade(values: tuple[float, ...], parts: Parts) -> tuple[Counts, Counts, Counts]:
        return Counts((0,), (0,), 0.0, 0.0), used.counts(values[0]), held.counts(values[0])

    nothing = np.zeros(0, np.int64)
    values = [(one,) for one in grid(held.confidence, MOST_VALUES[1])]
    choice = choose(values, [target], CONFIDENCE, grade, lambda _: (nothing, nothing, nothing))
    return None if choice.chosen is None else choice.chosen.values[0]


def table(results: Sequence[Result]) -> str:
    """Returns the results as a table of Markdown."""
    lines = [
        "| data | target | misses | picked by eye misses | sent on | best in hindsight | times | exact | limit |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one.data} | {one.target} | {100 * one.misses:.1f} % | {100 * one.by_eye:.1f} % | "
        f"{100 * one.sent:.1f} % | {100 * one.hindsight:.1f} % | {one.times(one.sent)} | "
        f"{one.times(one.exact)} | {one.times(one.limit)} |"
        for one in results
    ]
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS, help="splits of each data set (%(default)s)")
    parser.add_argument("--labels", type=int, default=LABELS, help="labelled rows that certify (%(default)s)")
    parser.add_argument("--data", action="append", choices=DATA, help="only this data set (may be repeated)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    flags = parser.parse_args()
    pools = [pool_of(name) for name in flags.data or DATA]
    results = [
        measure(pool, target, flags.splits, flags.labels) for pool in pools for target in targets_of(pool)
    ]
    if flags.json:
        print(json.dumps([dataclasses.asdict(one) for one in results], indent=1))
    else:
        print(table(results))


if __name__ == "__main__":
    main()
