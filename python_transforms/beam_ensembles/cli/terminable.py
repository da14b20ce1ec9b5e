"""Ends a verb that writes files as gently on SIGTERM as on Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Lets SIGTERM end the verb as Ctrl-C does, so that the unfinished files are removed."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
