"""Functions over whole columns, for the tests of ``apply: python``."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

CALLS: list[int] = []
"""The number of rows of each call."""


def scaled(values: Any, factor: float = 2.0) -> Any:
    """Multiplies."""
    CALLS.append(len(values))
    return values * factor


def both(a: Any, b: Any) -> dict[str, Any]:
    """Returns two columns."""
    return {"total": a + b, "words": [f"{x}\0" for x in a.tolist()]}


def picky(values: Any) -> Any:
    """Takes nothing below zero."""
    if (values < 0).any():
        raise ValueError("a negative number")
    return np.sqrt(values)


def short(values: Any) -> Any:
    """Forgets a row."""
    return values[:-1]


def threads(values: Any) -> Any:
    """Returns of every row in which thread this is called."""
    return np.full(len(values), threading.get_native_id())


class Scaler:
    """No function."""
