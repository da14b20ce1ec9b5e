"""Numbers of rows, or lists of them of one length, to an array: in half the time that numpy takes.

numpy looks at every number twice. ``marshal`` writes a whole list in one go, each number of Python's own types
behind a letter for its type: a float as a double, a whole number of up to 32 bits as such. Where all letters are the
same, what stands between them is the array. Anything else has another letter, and numpy has to look after all.
"""

from __future__ import annotations

import dataclasses
import functools
import marshal
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

_VERSION: Final = 2
"""Of what ``marshal`` writes: floats are doubles from this one on, and later ones may refer to what stands before."""

_LISTS: Final[dict[type, int]] = {list: ord("["), tuple: ord("(")}
"""Letters of lists; how many items there are follows."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Number:
    """A type of numbers as it is written.

    Attributes:
        letter: Its letter.
        layout: Letter and value.
        kinds: The kinds of dtypes for which such numbers may stand.
    """

    letter: int
    layout: np.dtype[Any]
    kinds: str

    @classmethod
    def of(cls, letter: str, value: str, kinds: str) -> _Number:
        return cls(ord(letter), np.dtype([("letter", "u1"), ("value", value)]), kinds)

    def stands_in(self, written: np.ndarray) -> bool:
        """Says whether what was written in this layout is all of this type."""
        return bool((written["letter"] == self.letter).all())


_NUMBERS: Final[dict[type, _Number]] = {
    float: _Number.of("g", "<f8", "f"),
    int: _Number.of("i", "<i4", "fiu"),
}

_HEAD: Final = np.dtype([("letter", "u1"), ("length", "<i4")])

_FEW: Final = 8
"""With fewer rows numpy is as fast, even though truth values among its numbers have to be looked for."""


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
    number = _number_of(set(map(type, row)), kind)
    if number is None or len(row) != width:
        return None
    rows = _written(values, _layout(number, width))
    if rows is None:
        return None
    lists, numbers = rows["list"], rows["numbers"]
    are_lists = np.all(lists["letter"] == _LISTS[type(row)]) and np.all(lists["length"] == width)
    return np.ascontiguousarray(numbers["value"]) if are_lists and number.stands_in(numbers) else None


def vector_of(values: Sequence[Any], kind: str) -> np.ndarray | None:
    """Makes an array of numbers, ``[N]``, as ``matrix_of`` makes one of lists of them."""
    if type(values) is not list or len(values) < _FEW:
        return None
    number = _number_of({type(values[0])}, kind)
    numbers = None if number is None else _written(values, number.layout)
    if number is None or numbers is None or not number.stands_in(numbers):
        return None
    return np.ascontiguousarray(numbers["value"])


def _number_of(types: set[type], kind: str) -> _Number | None:
    number = _NUMBERS.get(types.pop()) if len(types) == 1 else None
    return number if number is not None and kind in number.kinds else None


def _written(values: list[Any], layout: np.dtype[Any]) -> np.ndarray | None:
    """Gives what ``marshal`` writes of the items of a list, if it is as long as that of items of a layout."""
    try:
        data = marshal.dumps(values, _VERSION)
    except ValueError:  # something that marshal does not know
        return None
    if len(data) != _HEAD.itemsize + len(values) * layout.itemsize:
        return None
    return np.frombuffer(data, layout, offset=_HEAD.itemsize)


@functools.lru_cache(maxsize=256)
def _layout(number: _Number, width: int) -> np.dtype[Any]:
    return np.dtype([("list", _HEAD), ("numbers", number.layout, (width,))])
