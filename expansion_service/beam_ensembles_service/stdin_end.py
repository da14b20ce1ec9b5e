"""Ending with the program that holds the other end of standard input."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


def when_stdin_ends(then: Callable[[], None]) -> None:
    """Calls a function, in a thread of its own, when standard input ends."""

    def wait() -> None:
        # Not through sys.stdin: a thread that waits in it has Python abort when the program ends by a signal.
        while sys.stdin is not None and os.read(sys.stdin.fileno(), 1024):
            pass
        then()

    threading.Thread(target=wait, daemon=True).start()
