"""Numbers as arguments of verbs."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


def whole_number(least: int, most: int = 999_999_999) -> Callable[[str], int]:
    """Returns the ``type`` of an argument that is a whole number, also one such as ``1e6``.

    Args:
        least: The least that it may be.
        most: The greatest, at most 2^53.
    """

    def read(text: str) -> int:
        found = finite(text)
        if not least <= found <= most or found != int(found):
            raise not_allowed(text, f"a whole number from {least} to {most}")
        return int(found)

    return read


def number(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Returns the ``type`` of an argument that is a finite number.

    Args:
        least: The least that it may be.
        most: The greatest.
    """

    def read(text: str) -> float:
        found = finite(text)
        if not least <= found <= most:
            raise not_allowed(
                text,
                f"a number of {least:g} or more"
                if most == math.inf
                else f"a number from {least:g} to {most:g}",
            )
        return found

    return read


def finite(text: str) -> float:
    """Returns the number that a text stands for; NaN, which lies in no range, where it is none or infinite.

    Python's own spellings, such as ``1_000`` and digits of other scripts, stand for none.
    """
    try:
        found = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def not_allowed(text: str, allowed: str) -> argparse.ArgumentTypeError:
    """Returns the error of an argument.

    Args:
        text: What was given.
        allowed: What may be.
    """
    return argparse.ArgumentTypeError(f"{text[:40]!r} is not {allowed}")
