"""How long tests wait for what must come: long enough for the slowest machine, so that only a hang is found."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SECONDS: Final = 300.0
"""For whatever must come: a process ends, a server is ready, an answer arrives. Below pytest's limit for a test."""
_PAUSE: Final = 0.02


def wait_until(is_so: Callable[[], object], what: str | Callable[[], str] = "what a test waits for") -> None:
    """Waits until a condition holds.

    Args:
        is_so: Returns something true once the condition holds.
        what: What is waited for, or what returns it, for the message.

    Raises:
        AssertionError: it does not hold after ``SECONDS``.
    """
    ends = time.monotonic() + SECONDS
    while not is_so():
        if time.monotonic() > ends:
            said = what if isinstance(what, str) else what()
            raise AssertionError(f"still not so after {SECONDS:.0f} s: {said}")
        time.sleep(_PAUSE)
