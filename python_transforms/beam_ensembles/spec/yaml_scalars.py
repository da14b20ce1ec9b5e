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
_MOST_DIGITS: Final = 250  # more than any float can hold, in any base that there is here
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
_BASES: Final = ((re.compile(r"0o[0-7]+"), 8), (re.compile(r"0x[0-9a-fA-F]+"), 16))
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY: Final = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_FIRST_OF_NUMBERS: Final = frozenset("+-.0123456789")


def plain_value(text: str) -> Plain:
    """Returns the value of an unquoted word: null, a truth value, a number, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _FIRST_OF_NUMBERS else text


def whole_number(text: str, base: int = 10) -> int | float:
    """Returns a whole number; one that no 64 bits hold becomes a float, as any other number of that size."""
    digits = text.lstrip("+-")
    if len(digits) > _MOST_DIGITS:
        return float("-inf" if text.startswith("-") else "inf")
    number = int(text, base)
    return number if -(1 << 63) <= number < 1 << 63 else float(number)


def _number(text: str) -> int | float | str:
    if _INTEGER.fullmatch(text):
        return whole_number(text)
    for pattern, base in _BASES:
        if pattern.fullmatch(text):
            return whole_number(text[2:], base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if infinity := _INFINITY.fullmatch(text):
        return float(f"{infinity.group(1)}inf")
    return text
