"""Make outside text safe for logs, messages and terminals.

Imports nothing of this project, so that every module may import it.

A newline in a name forges a line of a log, an escape code moves a terminal's cursor, and a bidirectional mark reorders
what a reader sees.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_MOST_SHOWN: Final = 200
_NOT_PLAIN: Final = re.compile(r"[^ -~]")
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that show nothing: fillers of Hangul, and Braille's blank."""
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """Replace all but letters, marks, digits, punctuation, symbols and spaces with escapes such as ``\\u001b``.

    That is control, bidirectional, invisible, unassigned and unencodable characters. The escapes are those of JSON
    strings, so an encoded JSON document stays the same document.
    """
    return text if text.isascii() and text.isprintable() else _NOT_PLAIN.sub(_shown, text)


def is_visible(text: str) -> bool:
    """Whether a text is all of characters that are seen, and spaces."""
    return printable(text) == text


def shortened(text: str, limit: int = _MOST_SHOWN) -> str:
    """Returns the start of a text from outside, printable, with a note of how many characters there were.

    Args:
        text: The text.
        limit: How many characters of it are shown.
    """
    cut = printable(text[:limit])
    return cut if len(text) <= limit else f"{cut}... ({len(text)} characters)"


def truncate(text: str, most: int) -> str:
    """Returns a text of at most ``most`` characters, with ``...`` at its end where it was longer.

    Nothing is escaped: for parts of a ``Problem``, which does that with the whole message.
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    if (character.isprintable() and character not in _BLANK) or unicodedata.category(character) == "Zs":
        return character
    if character in _SHORT:
        return _SHORT[character]
    units = character.encode("utf-16-be", "surrogatepass")  # one of 16 bits, or two as JSON has them
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
