"""A function over columns that quotes, in its error and in what it logs to nobody's name, what it was given."""

from __future__ import annotations

import logging

import numpy as np


def refuse(texts: np.ndarray) -> np.ndarray:
    """Refuses every text, in words that hold it; says beforehand how many it got."""
    logging.getLogger("someones.own").warning("got %d texts", len(texts))
    raise ValueError(f"cannot take {texts.tolist()}")
