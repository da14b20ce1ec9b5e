"""The cells into which a profile puts the values of each input, and how many of a window's values are in which."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from beam_ensembles.graph.profile import ColumnProfile, Numbers

NULL: Final = "null"
NOT_A_NUMBER: Final = "not a number"
LOW: Final = "low"
HIGH: Final = "high"
REST: Final = "rest"
UNSEEN: Final = "unseen"
INSIDE: Final = ""
_LEAST_CELLS: Final = 4
_LEAST_SHARE: Final = 0.02
"""Categories of a smaller share are one cell together: a window has too few rows for each."""
_LEAST_COUNT: Final = 10
"""And those that the profile has seen less often: that they seem as frequent is chance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison: of a column, or of one number of its tensors.

    Attributes:
        column: The column.
        name: What people call it: the column, or ``pixels[3]``.
        cells: What each cell holds: one of the names above, or ``=`` and a category.
        learned: How many rows of the profile are in each cell.
        numbers: How its numbers were distributed; None where it has none.
        expects_new: Whether categories that the profile does not know are no surprise: they count as rare ones.
    """

    column: str
    name: str
    cells: tuple[str, ...]
    learned: tuple[int, ...]
    numbers: Numbers | None = None
    expects_new: bool = False


def number_comparisons(column: str, learned: ColumnProfile) -> list[Comparison]:
    """Returns the comparisons of a column of numbers, all of its profile's positions."""
    several = len(learned.numbers) > 1
    return [
        Comparison(column, f"{column}[{at}]" if several else column, *_number_cells(one, learned.nulls), one)
        for at, one in enumerate(learned.numbers)
    ]


def _number_cells(numbers: Numbers, nulls: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    cells = (NULL, NOT_A_NUMBER, LOW, HIGH, *[INSIDE] * len(numbers.counts))
    low, high = (numbers.low, numbers.high) if numbers.counts else (0, numbers.low + numbers.high)
    return cells, (nulls, numbers.not_a_number, low, high, *numbers.counts)


class Edges:
    """The ends of the cells of many positions, padded to the same number.

    Args:
        numbers: The learned facts of each position.
    """

    def __init__(self, numbers: Sequence[Numbers]) -> None:
        self._most = max((len(one.counts) for one in numbers), default=0)
        self._smallest = np.array([_or_nan(one.smallest) for one in numbers])[:, None]
        ends = [(*one.quantiles, _or_nan(one.largest)) for one in numbers]
        width = max(self._most, 1)
        self._ends = np.array([[*row, *[row[-1]] * (width - len(row))] for row in ends]).reshape(-1, width)

    def counts(self, values: np.ndarray, nulls: np.ndarray) -> np.ndarray:
        """Returns how many values are in each cell: NaN, low, high, then inside, ``[positions, cells]``.

        Args:
            values: ``[positions, N]``; NaN where a row is null.
            nulls: How many rows are null at each position.
        """
        up_to = np.count_nonzero(values[:, None, :] <= self._ends[:, :, None], axis=2)
        low = np.count_nonzero(values < self._smallest, axis=1)
        missing = np.count_nonzero(np.isnan(values), axis=1)
        # Where no finite number was learned, the ends are NaN: whatever comes is high.
        high = values.shape[1] - missing - up_to[:, -1]
        inside = np.diff(up_to, axis=1, prepend=low[:, None])[:, : self._most]
        return np.column_stack((missing - nulls, low, high, inside))


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


class Categories:
    """The cells of a column of categories; those that are rare share one.

    Where the profile has seen categories only once, it expects that there are others that it has not seen at all: these
    are then a part of that cell.

    Args:
        column: The column.
        learned: The learned facts of the column.

    Attributes:
        comparison: How it is compared.
    """

    def __init__(self, column: str, learned: ColumnProfile) -> None:
        counts = learned.categories
        least = max(_LEAST_COUNT, _LEAST_SHARE * (learned.rows - learned.nulls))
        frequent = {text: count for text, count in counts.items() if count >= least}
        rare = sum(counts.values()) - sum(frequent.values())
        cells = (NULL, UNSEEN, REST, *(f"={text}" for text in frequent))
        found = (learned.nulls, 0, rare, *frequent.values())
        self.comparison = Comparison(column, column, cells, found, expects_new=1 in counts.values())
        self._places = {**dict.fromkeys(counts, 2), **{text: 3 + at for at, text in enumerate(frequent)}}

    def codes(self, texts: Sequence[str | None]) -> list[int]:
        """Returns the cell of each text."""
        place = self._places.get
        return [place(text, 1) for text in texts]  # type: ignore[arg-type]

    def unseen(self, texts: Sequence[str | None]) -> str | None:
        """Returns the most frequent text that the profile does not know, if there is one."""
        found = collections.Counter(text for text in texts if text not in self._places)
        return found.most_common(1)[0][0] if found else None


def null_comparison(column: str, learned: ColumnProfile) -> Comparison:
    """Returns the comparison of a column of which only nulls are known."""
    return Comparison(column, column, (NULL, INSIDE), (learned.nulls, learned.rows - learned.nulls))


def padded(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns counts as one array, ``[comparisons, cells]``, and which of its cells are not padding."""
    most = max((_LEAST_CELLS, *map(len, rows)))
    found = np.zeros((len(rows), most), np.int64)
    is_cell = np.zeros(found.shape, np.bool_)
    for at, row in enumerate(rows):
        found[at, : len(row)] = row
        is_cell[at, : len(row)] = True
    return found, is_cell
