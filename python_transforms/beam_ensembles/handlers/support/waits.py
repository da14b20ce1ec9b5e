"""How long to wait before a call of a server is made again."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Mapping
from typing import Final

FIRST_WAIT: Final = 0.25
"""Seconds before the first retry; each further wait is twice as long, less a random part of up to half."""
LONGEST_WAIT: Final = 30.0
LONGEST_ASKED: Final = 120.0
"""Seconds; a server that asks for more is not waited for."""
JITTER: Final = random.SystemRandom()
"""What keeps workers from calling at one moment. It leaves Python's own generator, which people seed, alone."""


def wait_before(retry: int) -> float:
    """Returns the seconds before a retry; ``retry`` is 0 for the first."""
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(retry, 30))
    return longest * JITTER.uniform(0.5, 1.0)


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that a response asks to wait for (``Retry-After``); None where it says nothing readable.

    Args:
        headers: The response's, whose names may be looked up in small letters.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    try:
        return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())
    except (OverflowError, ValueError):
        return None
