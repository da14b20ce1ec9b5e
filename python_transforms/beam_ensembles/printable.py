"""Make outside text safe for logs, messages and terminals.

Imports nothing of this project, so that every module may import it.

A newline in a name forges a line of a log, an escape code moves a terminal's cursor, and a bidirectional mark reorders
what a reader sees.
"""

from __future__ import annotations

import re
from typing import Final

_MOST_SHOWN: Final = 200
_CONTROLS: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """Replace control, bidirectional, invisible and unencodable characters with escapes such as ``\\u001b``.

    The escapes are those of JSON strings, so an encoded JSON document stays the same document.
    """
    return _CONTROLS.sub(_escape, text)


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


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"
