"""Copies of columns for code of users, which may change what it is given."""

from __future__ import annotations

from typing import Any

import numpy as np


def copied(values: np.ndarray) -> np.ndarray:
    """Returns a copy of a column, with the lists and mappings in it."""
    if values.dtype != object:
        return values.copy()
    return np.fromiter((_copied(value) for value in values), dtype=object, count=len(values))


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(one) if isinstance(one, list | dict) else one for one in value]
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value
