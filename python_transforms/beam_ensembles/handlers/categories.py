"""The error of a row whose text or number is none of the categories that its model was trained on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.printable import truncate

_LONGEST_VALUE: Final = 60
_MOST_SHOWN: Final = 12


def unknown_category(where: str, value: Any, known: Iterable[Any]) -> NodeError:
    """Returns the error of a row.

    Args:
        where: What has the value, such as a column in quotes.
        value: It; None or NaN is a null.
        known: The categories of the model; those that stand for a missing value are left out.
    """
    categories = [_shown(one) for one in known if not is_missing(one)]
    text = f"a category that the model does not know; it knows {listed(categories, _MOST_SHOWN)}"
    return NodeError("unknown_category", f"{where} is {_shown(value)}, {text}")


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None or NaN."""
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _shown(value: Any) -> str:
    if is_missing(value):
        return "null"
    text = truncate(repr(value.item() if isinstance(value, np.generic) else value), _LONGEST_VALUE)
    return f"{text} (an empty text)" if isinstance(value, str) and not value else text
