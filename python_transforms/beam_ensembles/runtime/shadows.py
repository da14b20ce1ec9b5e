"""Whether a shadow says what the node beside it says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from beam_ensembles.graph.kinds import Columns, valid_rows

_RELATIVE = 1e-6
"""Fractions that differ by less are the same answer."""


def agreements(pairs: Sequence[tuple[str, str]], columns: Columns) -> tuple[int, int]:
    """Counts the rows on which two nodes agree in all their columns, and the others.

    Rows without an answer of either node are in neither count.

    Args:
        pairs: Columns of the shadow, each with that of the node beside it.
        columns: All columns of a batch.
    """
    names = [name for pair in pairs for name in pair]
    both = np.logical_and.reduce([valid_rows(columns, name) for name in names])
    same = np.ones(int(np.count_nonzero(both)), dtype=np.bool_)
    for own, other in pairs:
        same &= _equal(columns[own][both], columns[other][both])
    agree = int(np.count_nonzero(same))
    return agree, len(same) - agree


def _equal(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    if own.dtype == object or other.dtype == object:
        pairs = zip(own.tolist(), other.tolist(), strict=True)
        return np.fromiter((bool(np.all(a == b)) for a, b in pairs), dtype=np.bool_, count=len(own))
    same = np.isclose(own, other, rtol=_RELATIVE, atol=0, equal_nan=True)
    return np.asarray(same.all(axis=tuple(range(1, same.ndim))))
