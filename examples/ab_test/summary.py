"""Compares the arms of an A/B test: how often each was right, and how sure that is.

    python examples/ab_test/summary.py scored.jsonl

The interval of a share is Wilson's, that of a difference Newcombe's hybrid score interval (his method 10: Statistics in
Medicine 17, 1998, pages 873 to 890).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from scipy.stats import binomtest

CHAMPION, CHALLENGER = "champion", "challenger"


class Share(NamedTuple):
    """How many of an arm's rows were right, with the 95 % interval of the share."""

    right: int
    rows: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share."""
        return self.right / self.rows


def share(right: int, rows: int) -> Share:
    """Returns a share with Wilson's interval."""
    interval = binomtest(right, rows).proportion_ci(0.95, method="wilson")
    return Share(right, rows, float(interval.low), float(interval.high))


def difference(one: Share, two: Share) -> tuple[float, float, float]:
    """Returns how much larger ``one`` is than ``two``, with the ends of Newcombe's interval."""
    value = one.value - two.value
    below = ((one.value - one.low) ** 2 + (two.high - two.value) ** 2) ** 0.5
    above = ((one.high - one.value) ** 2 + (two.value - two.low) ** 2) ** 0.5
    return value, value - below, value + above


def arms(lines: Iterable[str]) -> dict[str, Share]:
    """Counts the rows of each arm that were right."""
    rows, right = Counter[str](), Counter[str]()
    for row in map(json.loads, lines):
        rows[row["arm"]] += 1
        right[row["arm"]] += row["digit"] == row["truth"]
    return {arm: share(right[arm], rows[arm]) for arm in sorted(rows)}


def main() -> None:
    """Prints a line an arm, and whether the challenger is better."""
    found = arms(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    print(f"{'arm':<12}{'rows':>6}{'right':>7}{'share':>9}   95 % interval")
    for arm, one in found.items():
        print(f"{arm:<12}{one.rows:>6}{one.right:>7}{one.value:>9.4f}   {one.low:.4f} to {one.high:.4f}")
    value, low, high = difference(found[CHALLENGER], found[CHAMPION])
    verdict = "better" if low > 0 else "worse" if high < 0 else "not shown to be another"
    print(f"challenger - champion: {value:+.4f} ({low:+.4f} to {high:+.4f}): {verdict}")


if __name__ == "__main__":
    main()
