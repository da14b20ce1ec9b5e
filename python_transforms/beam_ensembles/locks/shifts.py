"""By how much the values of one column differ from those of another, row by row."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.locks.answers import Column

LEAST_TOLERANCE: Final = 1e-6
"""What a number may differ by, as a share of its size: other processors and libraries round single precision so."""
_NUMBERS: Final = "fiu"


@dataclasses.dataclass(frozen=True, slots=True)
class Shifts:
    """What differs between two columns of the same rows.

    Attributes:
        changed: Which rows have another value, beyond the tolerance, ``[N]``.
        differs: Which rows have another value at all, ``[N]``.
        relabelled: Which rows have another label, or of scores another likeliest class, ``[N]``; None where the column
            has numbers.
        size: By how much the numbers of a row differ at most, NaN where one has none, ``[N]``; None where the column
            has none.
        share: The same as a share of the numbers' size.
        absent: Which rows have a value in one column only, ``[N]``; of other shapes all.
    """

    changed: np.ndarray
    differs: np.ndarray
    relabelled: np.ndarray | None
    size: np.ndarray | None
    share: np.ndarray | None = None
    absent: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.bool_))


def shifts(
    old: Column, new: Column, tolerance: float, *, absolute: float | None = None, are_scores: bool = False
) -> Shifts:
    """Compares two columns.

    Args:
        old: One of them, which says how large the numbers are.
        new: The other one.
        tolerance: By how much of its size a number may differ and still be the same. Its size is its own amount and
            the mean amount of the column together, so that one near zero is not held to digits that it lacks.
        absolute: By how much a number may differ instead, whatever its size; or None.
        are_scores: Whether the columns have a score per class, in the same order.
    """
    has_other = (old.valid != new.valid) | (old.there != new.there)
    both = old.valid & new.valid & old.there & new.there
    if old.values.dtype.kind in _NUMBERS and new.values.dtype.kind in _NUMBERS:
        return _of_numbers(old, new, has_other, both, tolerance, absolute, are_scores)
    differs, changed = has_other.copy(), has_other.copy()
    scale = _Scale(tolerance, absolute)
    for at in np.flatnonzero(both).tolist():
        one, other = _plain(old.values[at]), _plain(new.values[at])
        if not scale.same(one, other, exactly=True):
            differs[at] = True
            changed[at] = not scale.same(one, other)
    is_scalar = old.values.dtype != object or all(
        not isinstance(one, list | dict | np.ndarray) for one in old.values[both].tolist()
    )
    return Shifts(changed, differs, changed if is_scalar else None, None, None, has_other)


def _of_numbers(
    old: Column,
    new: Column,
    has_other: np.ndarray,
    both: np.ndarray,
    tolerance: float,
    absolute: float | None,
    are_scores: bool,
) -> Shifts:
    rows = len(has_other)
    if old.values.shape[1:] != new.values.shape[1:]:
        everywhere = np.ones(rows, np.bool_)
        return Shifts(everywhere, everywhere, everywhere if are_scores else None, None, None, everywhere)
    one, other = _flat(old.values), _flat(new.values)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(one - other)
        same = (old.values.reshape(one.shape) == new.values.reshape(other.shape)) | (
            np.isnan(one) & np.isnan(other)
        )
        distance[same] = 0
        distance[np.isnan(distance)] = np.inf  # a number beside none
        amount = np.abs(one)
        finite = np.where(np.isfinite(amount) & both[:, None], amount, 0)
        mean = float(finite.sum() / max(1, both.sum() * one.shape[1])) or 1.0
        allowed = np.full_like(one, absolute) if absolute is not None else tolerance * (amount + mean)
        allowed[~np.isfinite(allowed)] = 0
        beyond = distance > allowed
        share = np.where(np.isfinite(amount), distance / (amount + mean), distance)
    differs, changed = has_other.copy(), has_other.copy()
    differs[both] = (~same[both]).any(axis=1)
    is_whole = old.values.dtype.kind != "f" and new.values.dtype.kind != "f"
    changed[both] = differs[both] if is_whole and absolute is None else beyond[both].any(axis=1)
    relabelled = None
    if are_scores and one.shape[1] > 1:
        relabelled = has_other.copy()
        relabelled[both] = np.argmax(one[both], axis=1) != np.argmax(other[both], axis=1)
    elif is_whole and old.values.ndim == 1:
        relabelled = changed
    return Shifts(changed, differs, relabelled, _most(distance, both), _most(share, both), has_other)


def _flat(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), -1).astype(np.float64)


def _most(distance: np.ndarray, both: np.ndarray) -> np.ndarray:
    found = np.full(len(both), np.nan)
    if distance.shape[1]:
        found[both] = distance[both].max(axis=1)
    return found


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


@dataclasses.dataclass(frozen=True, slots=True)
class _Scale:
    """Compares values that hold others, whose numbers may differ by the tolerance."""

    tolerance: float
    absolute: float | None

    def same(self, one: Any, other: Any, *, exactly: bool = False) -> bool:
        """Whether two values are the same."""
        one, other = _plain(one), _plain(other)
        if isinstance(one, list | tuple) and isinstance(other, list | tuple):
            return len(one) == len(other) and all(
                self.same(a, b, exactly=exactly) for a, b in zip(one, other, strict=True)
            )
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            return one.keys() == other.keys() and all(
                self.same(one[key], other[key], exactly=exactly) for key in one
            )
        if isinstance(one, float) and isinstance(other, float | int) and not isinstance(other, bool):
            return one == other or (one != one and other != other) or (not exactly and self._near(one, other))
        return type(one) is type(other) and bool(one == other)

    def _near(self, one: float, other: float) -> bool:
        allowed = self.tolerance * (1 + abs(one)) if self.absolute is None else self.absolute
        return abs(one - other) <= allowed
