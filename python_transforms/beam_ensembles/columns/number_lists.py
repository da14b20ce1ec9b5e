"""Lists of numbers, one a row and all of one length, to a matrix: in half the time that numpy takes.

numpy looks at every number twice. ``marshal`` writes a list of lists in one go, each number of Python's own types
behind a letter for its type: a float as a double, a whole number of up to 32 bits as such. Where all letters are the
same, what stands between them is the matrix. Anything else has another letter, and numpy has to look after all.
"""

from __future__ import annotations

import functools
import marshal
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

_VERSION: Final = 2
"""Of what ``marshal`` writes: floats are doubles from this one on, and later ones may refer to what stands before."""

_LISTS: Final[dict[type, int]] = {list: ord("["), tuple: ord("(")}
"""Letters of lists; how many items there are follows."""

_NUMBERS: Final[dict[type, tuple[int, str, str]]] = {
    float: (ord("g"), "<f8", "f"),
    int: (ord("i"), "<i4", "fiu"),
}
"""Letters of numbers; what follows; the kinds of dtypes for which they may stand."""

_HEAD: Final = np.dtype([("letter", "u1"), ("length", "<i4")])

_FEW: Final = 32
"""With fewer rows numpy is as fast."""


def matrix_of(values: Sequence[Any], width: int, kind: str) -> np.ndarray | None:
    """Makes a matrix of lists of numbers.

    Args:
        values: A list with a list or tuple a row.
        width: How many numbers each must hold.
        kind: The kind of the column's dtype.

    Returns:
        ``[N, width]`` of ``float64`` or ``int32``; None where they are not all of one type and length, or not of one
        that may stand for that kind, or only a few rows. That says nothing about whether they are right.
    """
    if type(values) is not list or len(values) < _FEW or type(values[0]) not in _LISTS:
        return None
    row: Sequence[Any] = values[0]
    types = set(map(type, row))
    letter, number, kinds = _NUMBERS.get(next(iter(types), type(None)), (0, "", ""))
    if len(types) != 1 or len(row) != width or kind not in kinds:
        return None
    try:
        data = marshal.dumps(values, _VERSION)
    except ValueError:  # something that marshal does not know
        return None
    layout = _layout(number, width)
    if len(data) != _HEAD.itemsize + len(values) * layout.itemsize:
        return None
    rows = np.frombuffer(data, layout, offset=_HEAD.itemsize)
    are_lists = np.all(rows["list"]["letter"] == _LISTS[type(row)]) and np.all(
        rows["list"]["length"] == width
    )
    numbers = rows["numbers"]
    return (
        np.ascontiguousarray(numbers["value"]) if are_lists and np.all(numbers["letter"] == letter) else None
    )


@functools.lru_cache(maxsize=256)
def _layout(number: str, width: int) -> np.dtype[Any]:
    one = np.dtype([("letter", "u1"), ("value", number)])
    return np.dtype([("list", _HEAD), ("numbers", one, (width,))])
