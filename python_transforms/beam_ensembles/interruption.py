"""End abandoned requests: long checks call ``checkpoint`` between their steps.

A Python thread cannot be stopped from outside. So the service sets, for each request, how to tell whether its caller
still waits. Loops whose length a caller decides check it. Imports nothing of this project, so that every module may
import it.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Callable, Iterator
from typing import Final

_LOOK_SECONDS: Final = 0.02


class Interrupted(BaseException):
    """Nobody waits for the result. Like ``KeyboardInterrupt``, it passes handlers of ``Exception``."""


class _Request:
    """Whether somebody still waits for a request, checked at most every 20 ms."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self._is_wanted = is_wanted
        self._next_look = 0.0

    def check(self) -> None:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            if not self._is_wanted():
                raise Interrupted


_REQUEST: Final[contextvars.ContextVar[_Request | None]] = contextvars.ContextVar("request", default=None)


@contextlib.contextmanager
def while_wanted(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Make ``checkpoint`` raise in this thread once nobody wants the block's result.

    Args:
        is_wanted: Whether somebody still waits; called at most every 20 ms.
    """
    token = _REQUEST.set(_Request(is_wanted))
    try:
        yield
    finally:
        _REQUEST.reset(token)


def checkpoint() -> None:
    """End this thread's request if nobody waits for it.

    Raises:
        Interrupted: The caller has gone, or the request has reached its deadline.
    """
    request = _REQUEST.get()
    if request is not None:
        request.check()
