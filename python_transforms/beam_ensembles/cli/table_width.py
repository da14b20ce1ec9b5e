"""Tables that are wider than the terminal: their columns are shown in parts, one below the other."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Final

_BESIDE: Final = 2
"""Spaces before each column."""


def parts_of(widths: Sequence[int]) -> list[list[int]]:
    """Returns the places of the columns in each part of a table, as wide as the terminal allows.

    The first column, which names the rows, is in every part. A table has one part where the output is not a terminal,
    and where a column does not fit beside the first one.

    Args:
        widths: The width of each column, in letters.
    """
    every = list(range(len(widths)))
    if not sys.stdout.isatty():
        return [every]
    room = shutil.get_terminal_size().columns
    taken = [_BESIDE + width for width in widths]
    if sum(taken) <= room or taken[0] + max(taken[1:], default=0) > room:
        return [every]
    parts = [[0]]
    for at in every[1:]:
        if sum(taken[one] for one in parts[-1]) + taken[at] > room:
            parts.append([0])
        parts[-1].append(at)
    return parts
