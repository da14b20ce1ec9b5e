"""How many rows of a node fit in memory at once, as batches show it."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Final

_LOGGER: Final = logging.getLogger(__name__)
_FIRST_CALLS: Final = 32
"""After so many calls of all rows that are known to fit, a call of twice as many is tried."""


class FittingRows:
    """The most rows of a node that are known to fit in memory at once. Threads may share it.

    Memory that others use may be free later, and long texts may be followed by short ones: after enough calls that
    fit, one of twice as many rows is tried. Each time that one fails, twice as many calls come before the next: the
    rows that are scored twice stay few.

    Args:
        node: The node's name, for the log.
    """

    def __init__(self, node: str) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._calls, self._wait = 0, _FIRST_CALLS
        self.most: int | None = None
        """The most rows that fit; None where memory has never run out."""

    def limit(self, limit: int | None) -> int | None:
        """Returns the most rows of the next call, given the most that it may get anyway."""
        with self._lock:
            if self.most is None:
                return limit
            most = self.most * 2 if self._calls >= self._wait else self.most
            return most if limit is None else min(most, limit)

    def went_well(self, rows: int) -> None:
        """Counts a call that fitted."""
        with self._lock:
            if self.most is None:
                return
            if rows > self.most:
                self.most, self._calls = rows, 0
            elif rows == self.most:
                self._calls += 1

    def restore(self, most: int | None) -> None:
        """Forgets what calls have shown since ``most`` rows were known to fit: a row that is too large alone."""
        with self._lock:
            self.most = most

    def failed(self, rows: int) -> None:
        """Notes that so many rows, none of which is too large alone, do not fit."""
        with self._lock:
            if self.most is not None and rows > self.most:
                self._wait, self._calls = self._wait * 2, 0
            most = max(rows // 2, 1)
            if self.most is not None and self.most <= most:
                return
            self.most, self._calls = most, 0
        _LOGGER.warning(
            "node '%s': a batch of %d rows does not fit in memory; it gets at most %d at once from now on, and more "
            "again when these fit for a while (set 'batch: {max: %d}')", self._node, rows, most, most,
        )  # fmt: skip


def release() -> None:
    """Frees the memory that PyTorch keeps for later tensors."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
