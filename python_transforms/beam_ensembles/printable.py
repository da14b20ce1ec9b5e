"""Make outside text safe for logs, messages and terminals.

Imports nothing of this project, so that every module may import it.

A newline in a name forges a line of a log, an escape code moves a terminal's cursor, and a bidirectional mark reorders
what a reader sees.
"""

from __future__ import annotations

import re
from typing import Final

MOST_SHOWN: Final = 200
"""How many characters of a name or value a message shows."""

_CONTROLS: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """Replace control, bidirectional, invisible and unencodable characters with escapes such as ``\\u001b``.

    The escapes are those of JSON strings, so an encoded JSON document stays the same document.
    """
    return _CONTROLS.sub(_escape, text)


def shortened(text: str, limit: int = MOST_SHOWN) -> str:
    """Returns printable text of at most ``limit`` characters and a note of how many there were."""
    cut = printable(text[:limit])
    return cut if len(text) <= limit else f"{cut}... ({len(text)} characters)"


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"
