"""What an unquoted word of a file is: the core schema of YAML 1.2, in which ``no`` and ``on`` are text.

https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import re
from typing import Final

Plain = str | int | float | bool | None
"""One plain value."""

_WORDS: Final[dict[str, Plain]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    ".nan": float("nan"), ".NaN": float("nan"), ".NAN": float("nan"),
}  # fmt: skip
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,400}")
_BASES: Final = ((re.compile(r"0o[0-7]{1,400}"), 8), (re.compile(r"0x[0-9a-fA-F]{1,400}"), 16))
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY: Final = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_FIRST_OF_NUMBERS: Final = frozenset("+-.0123456789")


def plain_value(text: str) -> Plain:
    """Gives the value of an unquoted word: null, a truth value, a number, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _FIRST_OF_NUMBERS else text


def _number(text: str) -> int | float | str:
    if _INTEGER.fullmatch(text):
        return int(text)
    for pattern, base in _BASES:
        if pattern.fullmatch(text):
            return int(text[2:], base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if infinity := _INFINITY.fullmatch(text):
        return float(f"{infinity.group(1)}inf")
    return text
