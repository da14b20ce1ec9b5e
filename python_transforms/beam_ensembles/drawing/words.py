"""Texts of a picture: how wide they are, and how they are cut to what a reader takes in at a glance."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

_NARROW: Final = frozenset("ijltfrI|.,:;'!()[]{} /\\-\"")
_BROAD: Final = frozenset("mwMW@%")
_LONGEST_NAME: Final = 28
_MOST_NAMES: Final = 2
_LEAST: Final = 8


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimates how wide a text is in the sans-serif fonts that there are, rather too wide than too narrow.

    Args:
        text: One line.
        size: The font's size.
        bold: Whether it is bold.
    """
    return sum(map(_em, text)) * size * (1.08 if bold else 1.0)


def _em(letter: str) -> float:
    if letter in _NARROW:
        return 0.38
    if letter in _BROAD or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.72 if letter.isupper() else 0.62


def cut(text: str, most: int) -> str:
    """Returns a text in one line, with an ellipsis where it is longer than so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def few(names: Sequence[str]) -> str:
    """Returns the names of columns: all of two, the first two of more."""
    shown = ", ".join(cut(name, _LONGEST_NAME) for name in names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} +{len(names) - _MOST_NAMES}"


def wrapped(text: str, size: float, room: float, most: int) -> list[str]:
    """Breaks a text into lines of a width, at most so many; the last one is cut."""
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < most:
        line = [words.pop(0)]
        while words and width(" ".join([*line, words[0]]), size) <= room:
            line.append(words.pop(0))
        lines.append(" ".join(line))
    if words:
        lines[-1] = f"{lines[-1]} …"
    return [fitting(line, size, room) for line in lines]


def fitting(text: str, size: float, room: float) -> str:
    """Returns a text in one line, with an ellipsis where it is wider than a width."""
    most = len(text)
    while most > _LEAST and width(cut(text, most), size) > room:
        most -= 1
    return cut(text, most)
