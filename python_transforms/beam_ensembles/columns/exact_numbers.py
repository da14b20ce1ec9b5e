"""Numbers that numpy does not take as they are: large whole numbers, decimals, whole numbers with a point.

The rule for numbers, whether a row of Python, JSON or CSV holds them: a declared integer takes a number that it holds
exactly (``3``, ``3.0``, ``1e3``), a declared float takes the nearest one, and neither takes one beyond its range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np

_LEAST: Final = -(2**63)
_MOST_SIGNED: Final = 2**63 - 1
_MOST: Final = 2**64 - 1
"""The range of all integer types together; a decimal's exponent may ask for more digits than there is memory."""
_ALL_EXACT_BELOW: Final = 2**53
"""Every whole number below it is a ``float64``."""


def numbers_of(values: Sequence[Any], kind: str) -> np.ndarray | None:
    """Returns numbers as an array of floats or integers.

    Args:
        values: Numbers of any of Python's and numpy's types, or nested lists of them.
        kind: Kind of the declared dtype: ``f``, ``i`` or ``u``.

    Returns:
        An array of ``float64``, ``int64`` or ``uint64`` in the shape of the lists; None where one value is not a number
        or not one of that kind, or where the lists have no common shape.
    """
    try:
        items = np.array(values, dtype=object)
        flat = items.ravel().tolist()
        found = np.array(list(map(nearest_float, flat)), np.float64) if kind == "f" else _integers(flat)
    except (ValueError, TypeError, OverflowError):
        return None
    return found.reshape(items.shape)


def are_beyond_float(values: np.ndarray) -> bool:
    """Whether some of an array's whole numbers may have no equal ``float64``: those from 2^53 on."""
    return values.dtype.kind in "iu" and bool((np.abs(values.astype(np.float64)) >= _ALL_EXACT_BELOW).any())


def _integers(values: Sequence[Any]) -> np.ndarray:
    found = list(map(whole_number, values))
    return np.array(found, np.uint64 if max(found, default=0) > _MOST_SIGNED else np.int64)


def nearest_float(number: Any) -> float:
    """Returns the ``float64`` nearest to a number.

    Raises:
        OverflowError: The number is beyond all floats.
        TypeError: It is not a number.
    """
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | float | Decimal | np.number):
        raise TypeError(number)
    found = float(number)
    if math.isinf(found) and isinstance(number, Decimal) and number.is_finite():
        raise OverflowError(number)
    return found


def whole_number(number: Any) -> int:
    """Returns a number as an integer.

    Raises:
        ValueError: The number is not whole, or beyond all integer types.
        TypeError: It is not a number.
    """
    if isinstance(number, bool | np.bool_):
        raise TypeError(number)
    if isinstance(number, int | np.integer):
        return int(number)
    if isinstance(number, float | np.floating):
        if number.is_integer():
            return int(number)
    elif not isinstance(number, Decimal):
        raise TypeError(number)
    elif number.is_finite() and _LEAST <= number <= _MOST and number == int(number):
        return int(number)
    raise ValueError(number)
