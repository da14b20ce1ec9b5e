"""Whether a shadow says what the node beside it says, and how far their numbers are apart."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.graph.kinds import Columns, valid_rows

_RELATIVE: Final = 1e-6
"""Fractions that differ by less are the same answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """What a batch of a shadow and of the node beside it have in common; rows without an answer of either are left out.

    Attributes:
        agreements: Rows on which they agree in all their columns.
        disagreements: The others.
        difference: The sum over the rows of the greatest difference of their numbers; None where they give no numbers.
        greatest: The greatest of these.
    """

    agreements: int
    disagreements: int
    difference: float | None = None
    greatest: float | None = None


def compare(pairs: Sequence[tuple[str, str]], columns: Columns, tolerance: float = 0.0) -> Comparison:
    """Compares a shadow with the node beside it.

    Args:
        pairs: Columns of the shadow, each with that of the node beside it.
        columns: All columns of a batch.
        tolerance: By how much numbers may differ and still agree.
    """
    names = [name for pair in pairs for name in pair]
    both = np.logical_and.reduce([valid_rows(columns, name) for name in names])
    same = np.ones(int(np.count_nonzero(both)), dtype=np.bool_)
    apart: np.ndarray | None = None
    for own, other in pairs:
        mine, its = columns[own][both], columns[other][both]
        if _are_numbers(mine) and _are_numbers(its):
            difference = _difference(mine, its)
            if _are_whole(mine, its):
                near = difference <= tolerance
            else:
                near = np.isclose(mine, its, rtol=_RELATIVE, atol=tolerance, equal_nan=True)
            same &= _by_row(near).all(axis=1)
            found = _by_row(difference).max(axis=1, initial=0.0)
            apart = found if apart is None else np.maximum(apart, found)
        else:
            answers = zip(mine.tolist(), its.tolist(), strict=True)
            same &= np.fromiter((_agree(a, b, tolerance) for a, b in answers), np.bool_, len(same))
    agree = int(np.count_nonzero(same))
    if apart is None or not len(apart):
        return Comparison(agree, len(same) - agree)
    return Comparison(agree, len(same) - agree, float(apart.sum()), float(apart.max()))


def _are_numbers(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiu"


def _are_whole(own: np.ndarray, other: np.ndarray) -> bool:
    """Whether both have whole numbers: of those, two that are next to each other are not the same, however large."""
    return np.result_type(own, other).kind in "iu"


def _near(own: float, other: float, tolerance: float) -> bool:
    """Whether ``numpy.isclose`` holds of two numbers; it takes a hundred times as long for one pair."""
    if isinstance(own, int) and isinstance(other, int):
        return abs(own - other) <= tolerance
    if own == other or (own != own and other != other):
        return True
    return math.isfinite(other) and abs(own - other) <= tolerance + _RELATIVE * abs(other)


def _difference(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Returns by how much numbers differ; 0 where that is no finite number, as beside NaN."""
    if _are_whole(own, other):
        most, least = np.maximum(own, other), np.minimum(own, other)
        return np.asarray(most.astype(np.uint64) - least.astype(np.uint64), np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(own.astype(np.float64) - other.astype(np.float64))
    return np.where(np.isfinite(apart), apart, 0.0)


def _by_row(values: np.ndarray) -> np.ndarray:
    """Returns a row for each row of values, ``[N, n]``, in which n may be 0."""
    return values.reshape(len(values), math.prod(values.shape[1:]))


def _agree(own: Any, other: Any, tolerance: float) -> bool:
    """Whether two values of one row agree: texts and the like exactly, lists and rows item by item."""
    if isinstance(own, np.ndarray) or isinstance(other, np.ndarray):
        own, other = np.asarray(own).tolist(), np.asarray(other).tolist()
    if isinstance(own, list | tuple) and isinstance(other, list | tuple):
        return len(own) == len(other) and all(map(_agree, own, other, [tolerance] * len(own)))
    if isinstance(own, dict) and isinstance(other, dict):
        return own.keys() == other.keys() and all(_agree(own[key], other[key], tolerance) for key in own)
    if isinstance(own, bool) or isinstance(other, bool):
        return bool(own == other)
    if isinstance(own, int | float) and isinstance(other, int | float):
        return _near(own, other, tolerance)
    return bool(own == other)
