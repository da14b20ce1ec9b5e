"""A model that says which process it runs in."""

from __future__ import annotations

import os

import numpy as np


class WhereItRuns:
    """Predicts the ids of its process and of the one that started it."""

    def predict(self, batch: np.ndarray) -> np.ndarray:
        """Returns ``[N, 2]``."""
        return np.tile(np.array([os.getpid(), os.getppid()], np.float64), (len(batch), 1))
