"""Deadlines for library calls that have none."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from beam_ensembles.errors import EnsembleError

_T = TypeVar("_T")
_MOST_STUCK: Final = 256
_FREE: Final = threading.BoundedSemaphore(_MOST_STUCK)


class TookTooLong(EnsembleError):
    """A call did not return in time."""


def call_within(seconds: float, call: Callable[[], _T], what: str) -> _T:
    """Call a function, and stop waiting for it after some seconds.

    The call itself cannot be stopped: it continues in a thread until the library gives up. At most 256 such calls
    run at one time; further ones wait.

    Args:
        seconds: How long to wait.
        call: The function.
        what: A description for the message: ``reading 'gs://bucket/model'``.

    Raises:
        TookTooLong: The function has not returned by then, or too many other calls are still running.
    """
    ends = time.monotonic() + seconds
    free = _FREE
    if not free.acquire(timeout=seconds):
        raise TookTooLong(
            f"{what} was not tried: {_MOST_STUCK} other reads are still waiting; try again later"
        )
    found: list[tuple[bool, Any]] = []

    def run() -> None:
        try:
            found.append((True, call()))
        except BaseException as error:
            found.append((False, error))
        finally:
            free.release()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True, name="read")
    thread.start()
    thread.join(max(0.0, ends - time.monotonic()))
    if not found:
        text = f"{what} takes longer than {seconds:g} seconds"
        raise TookTooLong(f"{text}; check that this machine reaches that storage and has credentials for it")
    is_good, value = found[0]
    if not is_good:
        raise value
    result: _T = value
    return result
