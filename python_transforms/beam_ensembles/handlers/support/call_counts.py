"""What a node counts besides rows while its member runs: calls of a server, tokens, answers from a cache.

Whoever runs a member opens ``counting``; whatever the member calls in that thread, or in coroutines that it starts from
there, counts into it.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import threading
from collections.abc import Iterator
from typing import Final

CALLS: Final = "calls"
"""Requests that were sent, retries among them."""
RETRIES: Final = "retries"
"""Calls that were made again because the failure may pass."""
THROTTLED: Final = "throttled_millis"
"""Milliseconds that calls waited for a quota, or because the server had no room."""
TOKENS_IN: Final = "tokens_in"
TOKENS_OUT: Final = "tokens_out"
TOKENS_CACHED: Final = "tokens_cached"
"""Those of ``TOKENS_IN`` that the server had in a cache of its own."""
COST: Final = "cost_billionths"
"""Billionths of a dollar."""
REFUSALS: Final = "refusals"
MALFORMED: Final = "malformed"
"""Answers that could not be used, those that were repaired later among them."""
SHARED: Final = "shared_rows"
"""Rows that shared another row's call."""

CACHE_HITS: Final = "cache_hits"
"""Rows that were answered from the cache."""
CACHE_MISSES: Final = "cache_misses"
"""Rows that were not."""
CACHE_ERRORS: Final = "cache_errors"
"""Times that the cache could not be read or written."""


class Counts:
    """Counters by name, and how long calls took; threads may share them.

    Attributes:
        counters: The counters.
        latencies: Microseconds of each call of a server.
    """

    def __init__(self) -> None:
        self.counters: collections.Counter[str] = collections.Counter()
        self.latencies: list[int] = []
        self._lock = threading.Lock()

    def add(self, name: str, by: int) -> None:
        """Adds to a counter."""
        with self._lock:
            self.counters[name] += by

    def took(self, seconds: float) -> None:
        """Notes how long a call took."""
        with self._lock:
            self.latencies.append(round(seconds * 1e6))


_COUNTS: Final[contextvars.ContextVar[Counts | None]] = contextvars.ContextVar("counts", default=None)


@contextlib.contextmanager
def counting() -> Iterator[Counts]:
    """Yields what is counted within the block."""
    counts = Counts()
    token = _COUNTS.set(counts)
    try:
        yield counts
    finally:
        _COUNTS.reset(token)


def count(name: str, by: int = 1) -> None:
    """Adds to a counter of the node that runs; does nothing where none does."""
    counts = _COUNTS.get()
    if counts is not None and by:
        counts.add(name, by)


def call_took(seconds: float) -> None:
    """Counts a call of a server, and notes how long it took."""
    counts = _COUNTS.get()
    if counts is not None:
        counts.add(CALLS, 1)
        counts.took(seconds)
