"""Ending by SIGTERM or Ctrl-C."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from typing import Final

_LOGGER: Final = logging.getLogger(__name__)


def when_signalled(then: Callable[[], None]) -> None:
    """Calls a function, in the main thread, when SIGTERM or SIGINT comes; it takes the place of one set before."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda signum, frame: then())


def end_before_ready() -> None:
    """Ends the process with 0 at once: what a signal does before a server is there, as while Beam is imported.

    For a process that has nothing to clean up. An exception would not do: an import may catch it, and where a
    ``KeyboardInterrupt`` passes an ``exec``, as a dataclass's, Python ends by SIGINT although it is caught later.
    """
    _LOGGER.info("ended before it was ready")
    os._exit(0)
