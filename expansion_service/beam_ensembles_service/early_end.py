"""Ending by a signal that comes before a server is there, as while Beam is imported."""

from __future__ import annotations

import logging
import os
import signal
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_LOGGER: Final = logging.getLogger(__name__)


def end_by_signals() -> None:
    """Has SIGTERM and SIGINT end the process with 0 at once, until they get handlers that end a server gently.

    To be called while the process has nothing to clean up. An exception would not do: an import may catch it, and where
    a ``KeyboardInterrupt`` passes an ``exec``, as a dataclass's, Python ends by SIGINT although it is caught later.
    """
    for number in SIGNALS:
        signal.signal(number, _end)


def _end(signum: int, frame: FrameType | None) -> None:
    _LOGGER.info("ended before it was ready")
    os._exit(0)
