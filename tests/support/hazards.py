"""Models that fail, hang or end their process where rows ask for it.

Processes that load one import this module: it has no more than they need anyway.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any

import numpy as np

from beam_ensembles.beam_repairs import inference_imports

inference_imports.import_handlers("sklearn_inference")  # all need it; a fork server has it for all of them


class Hazard:
    """Adds up the numbers of rows, but for those whose first number is one of these."""

    BAD, LOGS, DIES, EXITS, HANGS = -1.0, -2.0, -3.0, -4.0, -5.0

    def fit(self) -> Hazard:
        """Does nothing: scikit-learn's models have it."""
        return self

    def predict(self, batch: np.ndarray) -> Any:
        """Returns the sums, or does what a row asks for."""
        asked = set(batch[:, 0].tolist())
        if self.BAD in asked:
            raise ValueError("a bad row")
        if self.LOGS in asked:
            logging.getLogger("of.a.model").warning("seen %d", 7)
        if self.DIES in asked:
            os._exit(7)
        if self.EXITS in asked:
            sys.exit("a bad row")
        if self.HANGS in asked:
            time.sleep(600)
        return batch.sum(axis=1)


class EndedContext(Hazard):
    """Stands in for a model on a GPU: after one bad row its process can score no row any more."""

    ENDS = -6.0

    def predict(self, batch: np.ndarray) -> Any:
        """Returns the sums, unless this process has seen a bad row."""
        asked = set(batch[:, 0].tolist())
        if self.ENDS in asked or getattr(self, "has_ended", False):
            self.has_ended = True
            raise RuntimeError("CUDA error: device-side assert triggered")
        return super().predict(batch)


class ByProcess(Hazard):
    """A model whose answer to each row is the id of its process."""

    def predict(self, batch: np.ndarray) -> np.ndarray:
        """Returns the process's number for each row."""
        time.sleep(0.05)  # so that the others get something too
        return np.full(len(batch), float(os.getpid()))
