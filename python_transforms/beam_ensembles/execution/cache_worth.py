"""Whether a cache is worth its time: a model that runs on the worker may answer faster than a database."""

from __future__ import annotations

import threading
from typing import Final

_LEAST_ROWS: Final = 2_000
"""Rows that are asked about before it is decided."""


class CacheWorth:
    """Compares what the model takes for a row with what the cache takes; threads may share it.

    Attributes:
        is_given_up: Whether the model is faster.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = self._looked_up = 0
        self._model = self._cache = 0.0
        self.is_given_up = False

    def asked(self, rows: int, seconds: float) -> None:
        """Notes how long the model took for some rows."""
        with self._lock:
            self._asked += rows
            self._model += seconds

    def looked_up(self, rows: int, seconds: float) -> bool:
        """Notes how long the cache took for some rows.

        Returns:
            Whether the cache has just been given up.
        """
        with self._lock:
            self._looked_up += rows
            self._cache += seconds
            if self.is_given_up or self._asked < _LEAST_ROWS:
                return False
            self.is_given_up = self._model / self._asked < self._cache / self._looked_up
            return self.is_given_up
