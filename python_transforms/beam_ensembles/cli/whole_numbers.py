"""Whole numbers as arguments of verbs."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def whole_number(least: int, digits: int = 9) -> Callable[[str], int]:
    """Returns the ``type`` of an argument that is a whole number.

    Args:
        least: The least that it may be.
        digits: How many digits it may have.
    """

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > digits or int(text) < least:
            allowed = f"a whole number from {least} to {10**digits - 1}"
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is not {allowed}")
        return int(text)

    return read
