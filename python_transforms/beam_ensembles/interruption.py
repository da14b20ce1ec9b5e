"""Ends work that nobody waits for any more: long checks ask ``checkpoint`` between their steps.

A thread of Python cannot be stopped from outside. So the service says, for the time of a request, how to tell whether
its caller still waits; loops whose length a caller decides look at it. Imports nothing, so that all may.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Callable, Iterator
from typing import Final

_LOOK_SECONDS: Final = 0.02


class Interrupted(BaseException):
    """Nobody waits for what is computed. Like ``KeyboardInterrupt``, it passes handlers of ``Exception``."""


class _Request:
    """Whether a request is still waited for, looked at no more often than worth it."""

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
    """Has ``checkpoint`` raise in this thread once the block's result is not wanted.

    Args:
        is_wanted: Whether somebody still waits; called every now and then.
    """
    token = _REQUEST.set(_Request(is_wanted))
    try:
        yield
    finally:
        _REQUEST.reset(token)


def checkpoint() -> None:
    """Goes on, or ends the request that this thread works on.

    Raises:
        Interrupted: Its caller has gone, or its time is over.
    """
    request = _REQUEST.get()
    if request is not None:
        request.check()
