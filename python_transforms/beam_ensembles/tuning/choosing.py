"""Chooses cut-offs: candidates, the order in which they are tested, and the cheapest one that is certain.

The candidates and their order must not depend on the labels that certify them. With one cut-off they come from the rows
held out, without their labels: the most cautious value first. With several, or where no order is known to be cautious,
a part of the rows is spent on planning, as in Pareto testing (Laufer-Goldshtein et al., 2023,
https://arxiv.org/abs/2210.07913).
"""

from __future__ import annotations

import dataclasses
import decimal
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from beam_ensembles.tuning.certifying import p_values, passed
from beam_ensembles.tuning.targets import PRECISION, RECALL, Target

MOST_VALUES: Final = {1: 201, 2: 21, 3: 7}
"""Values of each cut-off, by how many cut-offs there are."""
PLANNING: Final = 0.3
"""The share of the rows that plans where several cut-offs are tuned."""
_DIGITS: Final = 6


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """What one part of the rows shows of a candidate.

    Attributes:
        right: For each target the rows that are right.
        counted: For each target the rows that count.
        cost: Milliseconds per row.
        flagged: The share of rows that are answered positive.
    """

    right: tuple[int, ...]
    counted: tuple[int, ...]
    cost: float
    flagged: float


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """A candidate.

    Attributes:
        values: Its numbers.
        plan: What the rows show that plan.
        test: What the rows show that certify.
        held: What the rows show that are held out.
    """

    values: tuple[float, ...]
    plan: Counts
    test: Counts
    held: Counts


Parts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The rows that plan, that certify, and that are held out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The tested candidates and the chosen one.

    Attributes:
        order: The candidates that were tested, in order.
        certain: How many of them are certain to reach the targets.
        chosen: The one that is chosen of those; None where there is none.
        planned: Whether some of the rows were spent on planning.
    """

    order: Sequence[Tried]
    certain: int
    chosen: Tried | None
    planned: bool


def grid(values: np.ndarray, most: int) -> list[float]:
    """Returns candidates for a cut-off: values that it is compared with, and one beyond each end.

    They are rounded down, so that one lies between every two values that differ in their first digits.

    Args:
        values: What the cut-off is compared with, ``[N]``.
        most: How many of them are candidates at most; where there are more different ones, quantiles are.
    """
    finite = np.unique(values[np.isfinite(values)])
    if not len(finite):
        return []
    low, high = float(finite[0]), float(finite[-1])
    if len(finite) > most:
        finite = np.quantile(values[np.isfinite(values)], np.linspace(0, 1, most), method="lower")
    room = max(abs(low), abs(high), 1e-3) * 1e-3
    rounded = {_rounded_down(value) for value in finite.tolist()}
    return sorted({float(f"{low - room:.3g}"), *rounded, float(f"{high + room:.4g}")})


def _rounded_down(value: float) -> float:
    """Returns a number of few digits that is no greater than a value."""
    with decimal.localcontext(decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_FLOOR)):
        return float(+decimal.Decimal(value))


def candidates(axes: Sequence[Sequence[float]]) -> list[tuple[float, ...]]:
    """Returns all combinations of values."""
    return list(itertools.product(*axes))


def is_planned(held: Sequence[Counts], targets: Sequence[Target], cut_offs: int) -> bool:
    """Whether rows must be spent on planning: no order of the candidates is known to be cautious."""
    return cut_offs > 1 or _direction(held, targets) is None


def _direction(held: Sequence[Counts], targets: Sequence[Target]) -> int | None:
    """Returns 1 where the first value of an only cut-off is the most cautious, -1 where the last one is; else None."""
    first, last = held[0], held[-1]
    if not math.isclose(first.cost, last.cost, rel_tol=1e-9):
        return 1 if first.cost > last.cost else -1
    measures = {target.measure for target in targets}
    if first.flagged != last.flagged and measures in ({RECALL}, {PRECISION}):
        is_first = first.flagged > last.flagged if measures == {RECALL} else first.flagged < last.flagged
        return 1 if is_first else -1
    return None


def ordered(tried: Sequence[Tried], targets: Sequence[Target], *, planned: bool) -> list[Tried]:
    """Returns the candidates in the order in which they are tested, without a look at the rows that certify."""
    if not planned:
        direction = _direction([one.held for one in tried], targets)
        return list(tried) if direction != -1 else list(reversed(tried))
    doubt = _doubts([one.plan for one in tried], targets)
    order = sorted(range(len(tried)), key=lambda at: (doubt[at], tried[at].plan.cost, tried[at].plan.flagged))
    found, cheapest = [], (math.inf, math.inf)
    for at in order:  # the Pareto front: each one that follows is less sure and better
        one = tried[at].plan
        rank = (one.cost, _rest(one, targets))
        if rank < cheapest:
            found.append(tried[at])
            cheapest = rank
    return found


def _rest(one: Counts, targets: Sequence[Target]) -> float:
    """Returns what counts beside the cost: few positive answers, many where their precision is the target."""
    measures = {target.measure for target in targets}
    if measures == {RECALL}:
        return one.flagged
    if measures == {PRECISION}:
        return -one.flagged
    shares = [right / max(counted, 1) for right, counted in zip(one.right, one.counted, strict=True)]
    return -min(shares)


def _doubts(counts: Sequence[Counts], targets: Sequence[Target]) -> np.ndarray:
    """Returns the p-value of each candidate: the greatest of its targets, ``[candidates]``."""
    found = [
        p_values(
            np.array([one.right[at] for one in counts]),
            np.array([one.counted[at] for one in counts]),
            target.least,
        )
        for at, target in enumerate(targets)
    ]
    return np.asarray(np.max(found, axis=0))


def choose(
    values: Sequence[tuple[float, ...]],
    targets: Sequence[Target],
    confidence: float,
    grade: Callable[[tuple[float, ...], Parts], tuple[Counts, Counts, Counts]],
    parts: Callable[[bool], Parts],
    *,
    plans: bool = False,
) -> Choice:
    """Returns the candidate that costs least of those that reach all targets with a confidence.

    Args:
        values: The candidates.
        targets: What must be reached.
        confidence: How certain that must be.
        grade: Returns what the parts of the rows show of a candidate.
        parts: Returns the parts; whether some rows plan is its argument.
        plans: Whether some rows plan also where that is not needed.
    """
    cut_offs = len(values[0])
    unplanned = parts(False)
    tried = [Tried(one, *grade(one, unplanned)) for one in values]
    planned = plans or is_planned([one.held for one in tried], targets, cut_offs)
    if planned:
        with_plan = parts(True)
        tried = [Tried(one, *grade(one, with_plan)) for one in values]
    order = ordered(tried, targets, planned=planned)
    certain = passed(_doubts([one.test for one in order], targets).tolist(), confidence)
    chosen = min(
        order[:certain], key=lambda one: (round(one.test.cost, 9), _rest(one.test, targets)), default=None
    )
    return Choice(order, certain, chosen, planned)
