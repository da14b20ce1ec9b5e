"""Rows of a database that are kept for a while: at most so many, and none for longer than so many seconds."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Keeps what was used last; threads may use it side by side.

    Args:
        max_rows: How many values are kept.
        max_age: For how many seconds a value is kept after it was put there.
        clock: Gives the time in seconds.
    """

    def __init__(self, max_rows: int, max_age: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_rows, self._max_age, self._clock = max_rows, max_age, clock
        self._kept: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, keys: Iterable[Key]) -> dict[Key, Value]:
        """Returns the values of those keys that are there and not too old."""
        oldest = self._clock() - self._max_age
        found = {}
        with self._lock:
            for key in keys:
                kept = self._kept.get(key)
                if kept is None:
                    continue
                if kept[0] <= oldest:
                    del self._kept[key]
                    continue
                self._kept.move_to_end(key)
                found[key] = kept[1]
        return found

    def put(self, values: Mapping[Key, Value]) -> None:
        """Keeps values, in the place of those that were used longest ago."""
        now = self._clock()
        with self._lock:
            for key, value in values.items():
                self._kept[key] = (now, value)
                self._kept.move_to_end(key)
            while len(self._kept) > self._max_rows:
                self._kept.popitem(last=False)
