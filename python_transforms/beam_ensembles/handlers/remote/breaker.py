"""A circuit breaker: a server that is down fails rows quickly, instead of being waited for with every batch."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from beam_ensembles.errors import BatchFailed

UNREACHABLE: Final = "server_unreachable"
FIRST_SECONDS: Final = 5.0
LONGEST_SECONDS: Final = 60.0


class Breaker:
    """Refuses calls of a server for a while after one has failed for good.

    The first time that is ``FIRST_SECONDS``, each further time twice as long, ``LONGEST_SECONDS`` at most. After that
    the next calls are trials, which are not made again. Threads may share it.

    Args:
        clock: Gives the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._error: BatchFailed | None = None
        self._seconds = 0.0
        self._until = 0.0

    @contextlib.contextmanager
    def guard(self) -> Iterator[bool]:
        """Surrounds a call, retries included.

        Yields:
            Whether it is a trial: the last calls failed, so that this one should not be made again.

        Raises:
            BatchFailed: ``server_unreachable``: The server failed a moment ago and is not asked yet.
        """
        is_trial = self._is_trial()
        try:
            yield is_trial
        except BatchFailed as error:
            if error.code == UNREACHABLE:
                self._open(error)
            else:
                self._close()
            raise
        except Exception:
            self._close()  # it answers, if only with an error
            raise
        self._close()

    def _is_trial(self) -> bool:
        with self._lock:
            if self._error is None:
                return False
            left = self._until - self._clock()
            if left <= 0:
                return True
            text = f"{self._error.message}; it is asked again in {left:.0f} s"
            raise BatchFailed(self._error.code, text)

    def _open(self, error: BatchFailed) -> None:
        with self._lock:
            now = self._clock()
            if self._error is not None and now < self._until:
                return  # a call that was under way
            self._seconds = min(2 * self._seconds, LONGEST_SECONDS) or FIRST_SECONDS
            self._error, self._until = error, now + self._seconds

    def _close(self) -> None:
        with self._lock:
            self._error, self._seconds = None, 0.0
