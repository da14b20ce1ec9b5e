"""The inputs that are not like their profile any more, in words: what was learned, and what was seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from beam_ensembles.execution.profile_cells import (
    HIGH,
    INSIDE,
    LOW,
    NOT_A_NUMBER,
    NULL,
    REST,
    UNSEEN,
    Comparison,
)
from beam_ensembles.graph.profile import Numbers
from beam_ensembles.messages.printable import truncate

_TOLD: Final = 0.2
"""A cell is told of where it makes so much of the index."""
_MOST_TOLD: Final = 2
_LONGEST: Final = 40


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """A window in which an input differs from its profile.

    Attributes:
        rows: How many rows were compared.
        rows_before: How many rows came before.
        seen: How many are in each cell.
        index: The population stability index.
        parts: What each cell adds to it.
    """

    rows: int
    rows_before: int
    seen: tuple[int, ...]
    index: float
    parts: np.ndarray


@dataclasses.dataclass(frozen=True, slots=True)
class Drift:
    """An input that is not like its profile any more.

    Attributes:
        column: The input.
        name: The input, or the number of its tensors that is farthest off: ``pixels[3]``.
        windows: In how many windows.
        rows_before: How many rows came before the first of them.
        index: The largest population stability index.
        text: The values seen then, beside the learned ones.
    """

    column: str
    name: str
    windows: int
    rows_before: int
    index: float
    text: str

    def as_data(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return {
            "input": self.column,
            "place": self.name,
            "windows": self.windows,
            "rows_before": self.rows_before,
            "population_stability_index": round(self.index, 4),
            "text": self.text,
        }

    def __str__(self) -> str:
        windows = "1 window" if self.windows == 1 else f"{self.windows:,} windows"
        index = f"population stability index {self.index:.2f}, {windows}"
        since = f" after {self.rows_before:,} rows" if self.rows_before else ""
        return f"input '{self.name}' differs from its profile{since}: {self.text} ({index})"


class Drifts:
    """The inputs that have drifted so far."""

    def __init__(self) -> None:
        self._found: dict[str, Drift] = {}

    def add(self, compared: Comparison, evidence: Evidence, example: Callable[[], Any]) -> bool:
        """Notes that an input differs from its profile in a window; returns whether it is the first time.

        Args:
            compared: The comparison.
            evidence: The window.
            example: Returns the median of the window's numbers, or a category that is new.
        """
        known = self._found.get(compared.column)
        windows, first = (known.windows, known.rows_before) if known else (0, evidence.rows_before)
        if known is None or evidence.index > known.index:
            text = described(compared, evidence, example())
            known = Drift(compared.column, compared.name, windows, first, evidence.index, text)
        self._found[compared.column] = dataclasses.replace(known, windows=windows + 1)
        return not windows

    @property
    def all(self) -> tuple[Drift, ...]:
        """All of them, the worst first."""
        return tuple(sorted(self._found.values(), key=lambda drift: -drift.index))


def described(compared: Comparison, evidence: Evidence, example: Any) -> str:
    """Returns in words how a window differs from the profile; the arguments are those of ``Drifts.add``."""
    total = max(evidence.rows, 1), max(sum(compared.learned), 1)
    order = np.argsort(-evidence.parts[: len(compared.cells)]).tolist()
    told = [at for at in order[:_MOST_TOLD] if evidence.parts[at] >= _TOLD * evidence.index] or order[:1]
    found: list[str] = []
    for at in told:
        seen, learned = evidence.seen[at] / total[0], compared.learned[at] / total[1]
        found += _of_cell(compared, compared.cells[at], seen, learned, example)
    if compared.numbers is not None and isinstance(example, float):
        found.insert(0, f"median {_number(example)}, learned {_median(compared.numbers)}")
    return "; ".join(dict.fromkeys(found))


def _of_cell(compared: Comparison, cell: str, seen: float, learned: float, example: Any) -> Iterator[str]:
    both = f"{_percent(seen)}, learned {_percent(learned)}"
    if cell in (NULL, NOT_A_NUMBER):
        yield f"{cell}: {both}"
    elif cell in (LOW, HIGH):
        numbers = compared.numbers
        end = None if numbers is None else numbers.smallest if cell == LOW else numbers.largest
        if end is not None:
            where = "below the smallest learned" if cell == LOW else "above the largest learned"
            yield f"{_percent(seen)} {where}, {_number(end)}"
    elif cell == UNSEEN:
        such = "" if example is None else f", such as {truncate(repr(example), _LONGEST)}"
        yield f"{_percent(seen)} in categories that the profile does not know{such}"
    elif cell == REST:
        others = " or others that the profile does not know" if compared.expects_new else ""
        such = "" if example is None else f", such as {truncate(repr(example), _LONGEST)}"
        yield f"in rare categories{others}{such}: {both}"
    elif cell != INSIDE:
        yield f"{truncate(repr(cell[1:]), _LONGEST)}: {both}"
    elif compared.numbers is None:
        yield f"not null: {both}"


def _median(numbers: Numbers) -> str:
    if not numbers.counts:
        return "no finite number"
    half, so_far = sum(numbers.counts) / 2, 0
    ends = (*numbers.quantiles, numbers.largest)
    for end, count in zip(ends, numbers.counts, strict=True):
        so_far += count
        if so_far >= half:
            return _number(end)
    return "nothing"


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
