"""A model that fails on marked rows, and sometimes on whole batches."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np

GOOD: Final = (0.25, 0.5, 4.0)
RAISES: Final = -1.0
FORGETS: Final = -2.0
CODES: Final = {RAISES: "model_error", FORGETS: "misaligned"}
"""The fate of rows with these values."""


class Moody:
    """Doubles numbers.

    Args:
        upset: Which calls of more than one row fail, counted from 1, whatever is in them.
    """

    def __init__(self, upset: Collection[int] = ()) -> None:
        self.upset = upset
        self.calls = 0

    def predict(self, x: Any) -> Any:
        """Doubles; raises where one number is ``RAISES``, and gives an item too few where one is ``FORGETS``."""
        self.calls += 1
        if (x == RAISES).any() or (len(x) > 1 and self.calls in self.upset):
            raise ValueError("not today")
        found = np.asarray(x[:, 0]) * 2
        return found[:-1] if (x == FORGETS).any() else found
