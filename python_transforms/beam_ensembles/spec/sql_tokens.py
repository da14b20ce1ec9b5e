"""The words and signs of an expression."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import Final

from beam_ensembles.limits import LONGEST_EXPRESSION

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    | (?P<comment>--|/\*)
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<sign>[-+*/%()\[\],.<>=!~|&:])""",
    re.VERBOSE,
)
_OPERATORS: Final = frozenset(("and", "or", "not", "xor", "case", "is", "like", "ilike", "between", "in"))
_PLAIN_NAMES: Final = frozenset(
    (
        "current_user", "fetch", "group", "having", "into", "join", "limit", "offset", "order", "partition",
        "session_user", "struct", "top", "union", "user", "values", "view", "where", "window", "with",
    )
)  # fmt: skip
"""Words of SQL that mean nothing in an expression, so that they are columns, quoted or not."""


class ExpressionError(ValueError):
    """An expression that cannot be taken.

    Args:
        code: ``bad_expression``, ``expression_not_rowwise``, and what ``graph.expressions`` finds besides.
        message: The fault, its place in the expression, and what is allowed.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """One word, sign or stretch of space.

    Attributes:
        kind: Which group of the pattern it is: ``space``, ``text``, ``quoted``, ``number``, ``word`` or ``sign``.
        text: The token, verbatim.
        at: Its first character's position in the expression, from 0.
    """

    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        """The word in lower case; nothing where it is not a word, or quoted."""
        return self.text.lower() if self.kind == "word" else ""

    @property
    def is_operator(self) -> bool:
        """Whether polars makes a level of its tree of it."""
        return (self.kind == "sign" and self.text not in ",.()") or self.word in _OPERATORS


def tokens_of(text: str) -> Iterator[Token]:
    """Yields the tokens of an expression, spaces included.

    Raises:
        ExpressionError: It is too long, or has something that is part of no expression.
    """
    if len(text) > LONGEST_EXPRESSION:
        message = f"the expression has {len(text)} characters, more than {LONGEST_EXPRESSION}; make it several columns"
        raise ExpressionError("bad_expression", message)
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ExpressionError("bad_expression", _unexpected(text, at))
        kind = str(found.lastgroup)
        if kind == "comment":
            message = (
                f"{found.group()!r} starts a comment at character {at + 1}, which expressions do not have"
            )
            raise ExpressionError("bad_expression", message)
        if kind == "number" and math.isinf(float(found.group())):
            raise ExpressionError("bad_expression", f"the number at character {at + 1} is too large")
        yield Token(kind, found.group(), at)
        at = found.end()


def _unexpected(text: str, at: int) -> str:
    if text[at] in "'\"":
        what = "text" if text[at] == "'" else "name"
        return f"the {what} that starts at character {at + 1} has no end: {text[at : at + 20].strip()}"
    return f"{text[at]!r} at character {at + 1} is not part of an expression"


def rendered(token: Token) -> str:
    """Returns a token as polars gets it: on one line, and numbers with a point as doubles."""
    if token.kind == "space":
        return " "
    if token.kind == "number" and "." in token.text and "e" not in token.text.lower():
        return f"{token.text}e0"
    return f'"{token.text}"' if token.word in _PLAIN_NAMES else token.text
