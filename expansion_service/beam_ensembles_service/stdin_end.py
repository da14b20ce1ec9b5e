"""Ending with the program that holds the other end of standard input."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def when_stdin_ends(then: Callable[[], None]) -> None:
    """Calls a function, in a thread of its own, when standard input ends."""

    def wait() -> None:
        while sys.stdin is not None and sys.stdin.buffer.read(1024):
            pass
        then()

    threading.Thread(target=wait, daemon=True).start()
