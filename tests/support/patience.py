"""How long tests wait for events that must happen: only a hang takes longer, even on the slowest machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SECONDS: Final = 300.0
"""For any event that must happen: a process ends, a server is ready, an answer arrives. Below pytest's own limit."""
_PAUSE: Final = 0.02


def wait_until(is_so: Callable[[], object], what: str | Callable[[], str] = "the condition") -> None:
    """Wait until a condition holds.

    Args:
        is_so: Returns a true value once the condition holds.
        what: The condition in words, or a function that returns it, for the message.

    Raises:
        AssertionError: The condition does not hold after ``SECONDS``.
    """
    ends = time.monotonic() + SECONDS
    while not is_so():
        if time.monotonic() > ends:
            text = what if isinstance(what, str) else what()
            raise AssertionError(f"not so after {SECONDS:.0f} s: {text}")
        time.sleep(_PAUSE)
