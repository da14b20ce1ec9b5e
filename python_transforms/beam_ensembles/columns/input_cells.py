"""Columns as the numbers and texts that a profile knows of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from beam_ensembles.graph.profile import MEAN


def numbers_of(values: np.ndarray, kind: str) -> np.ndarray:
    """Returns the numbers of a column that are compared.

    Args:
        values: The values of some rows; None, or anything, where a row has none.
        kind: ``NUMBERS`` or ``ELEMENTS``: as they are. ``MEAN``: the mean of each row, NaN of an empty list.

    Returns:
        ``[N, positions]``.
    """
    if kind != MEAN:
        found: np.ndarray = values.reshape(len(values), -1)
        return found
    if values.dtype != object:
        mean: np.ndarray = values.reshape(len(values), -1).mean(axis=1, dtype=np.float64)
        return mean[:, None]
    means = [
        np.nan if one is None or not len(one) else np.mean(one, dtype=np.float64) for one in values.tolist()
    ]
    return np.array(means, np.float64)[:, None]


def texts_of(values: np.ndarray) -> list[Any]:
    """Returns the texts of a column of categories; a truth value is ``true`` or ``false``."""
    if values.dtype == np.bool_:
        return ["true" if one else "false" for one in values.tolist()]
    found: list[Any] = values.tolist()
    return found
