"""Ends a verb that writes files as gently on SIGTERM as on Ctrl-C, and not while its files take their names."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Ends the verb on SIGTERM as on Ctrl-C, so that the unfinished files are removed."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignores SIGTERM and Ctrl-C during the block: for a last step that takes no time and must not be half done."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
