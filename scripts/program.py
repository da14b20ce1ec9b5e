"""A program of make: a temporary folder of its own, an exit code, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable

from scripts.processes import end_with_cleanup_on_sigterm
from scripts.shell import CommandFailed
from scripts.temporary import own_temporary_folder
from scripts.terminal import say, styled


def exit_code(work: Callable[[], bool]) -> int:
    """Runs ``work``, which says whether it went as it should; gives the exit code."""
    end_with_cleanup_on_sigterm()
    start = time.monotonic()
    try:
        with own_temporary_folder():
            well = work()
    except CommandFailed as exc:
        say(styled(str(exc), "red"))
        well = False
    except KeyboardInterrupt:
        say("\nStopped")
        return 130
    say(f"{time.monotonic() - start:.0f} s")
    return 0 if well else 1
