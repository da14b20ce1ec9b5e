"""The table of node metrics, letter by letter as the clients in Go and Java write it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

Cells: TypeAlias = tuple[str, ...]
"""One line: a text for each of its headings."""

HEADINGS: Final[Cells] = (
    "node", "answered", "failed", "skipped", "batches", "rows per batch", "ms per batch", "load ms", "model MiB",
    "arms, agreement, usage",
)  # fmt: skip
INPUT_HEADINGS: Final[Cells] = (
    "input", "compared", "null", "out of range", "unseen", "windows", "drifted", "stability index",
)  # fmt: skip
_GAP: Final = "  "


def lines(headings: Cells, rows: Iterable[Cells]) -> list[str]:
    """Returns the headings and the rows as lines of columns; texts to the left, numbers to the right.

    Args:
        headings: Those of the columns; the first and the last hold texts.
        rows: The cells of each line.
    """
    table = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    last = len(headings) - 1
    return [
        _GAP.join(
            cell.ljust(width) if at in (0, last) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in table
    ]
