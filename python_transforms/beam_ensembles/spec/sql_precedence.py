"""How tightly operators bind, and what ``IS TRUE`` says of null, where polars' parser has it otherwise than SQL.

| written | polars' parser reads | SQL |
|---|---|---|
| ``a IS DISTINCT FROM b AND c`` | ``a IS DISTINCT FROM (b AND c)`` | ``(a IS DISTINCT FROM b) AND c`` |
| ``a > 1 XOR b AND c`` | ``(a > (1 XOR b)) AND c`` | ``(a > 1) XOR (b AND c)`` |
| ``a IS TRUE`` | ``a = TRUE``, null where ``a`` is null | ``a IS NOT DISTINCT FROM TRUE``, never null |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from beam_ensembles.spec.sql_tokens import Token, rendered

_OPENING: Final = ("(", "[", "case")
_CLOSING: Final = (")", "]", "end")
_BETWEEN_EXPRESSIONS: Final = (",", "when", "then", "else", "as")
_NOTHING: Final = Token("sign", "", 0)


def regrouped(tokens: Sequence[Token]) -> list[str]:
    """Returns each token as polars gets it, with parentheses around what SQL binds together.

    Args:
        tokens: All tokens of an expression, with spaces.
    """
    return _Groups(tokens).parts


@dataclasses.dataclass(slots=True)
class _Open:
    """The part of an expression between two brackets, as far as it is read.

    Attributes:
        first: The place of the token with which the operand of an ``OR`` starts.
        start: The place with which the operand of an ``AND`` or a ``NOT`` starts.
        xors: The places of the ``XOR`` since ``first``.
        is_distinct: Whether a ``DISTINCT FROM`` has come since ``start``.
        ranges: How many ``BETWEEN`` have, whose ``AND`` is still to come.
    """

    first: int
    start: int
    xors: list[int] = dataclasses.field(default_factory=list)
    is_distinct: bool = False
    ranges: int = 0


class _Groups:
    """Puts parentheses into an expression.

    Args:
        tokens: Its tokens, with spaces.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.parts = [rendered(token) for token in tokens]
        self._places = [place for place, token in enumerate(tokens) if token.kind != "space"]
        self._solid = [tokens[place] for place in self._places]
        opened = [_Open(0, 0)]
        for at in range(len(self._solid)):
            word = self._word(at)
            if word in _CLOSING and len(opened) > 1:
                self._close(opened.pop(), at)
            elif word in _OPENING:
                opened.append(_Open(at + 1, at + 1))
            elif word == "or" or word in _BETWEEN_EXPRESSIONS:
                self._close(opened[-1], at)
                opened[-1] = _Open(at + 1, at + 1)
            else:
                self._operator(word, at, opened[-1])
        while opened:
            self._close(opened.pop(), len(self._solid))

    def _word(self, at: int) -> str:
        token = self._solid[at] if at < len(self._solid) else _NOTHING
        return token.word or (token.text if token.kind == "sign" else "")

    def _operator(self, word: str, at: int, found: _Open) -> None:
        if word == "between":
            found.ranges += 1
        elif word == "and" and found.ranges:
            found.ranges -= 1
        elif word in ("and", "xor"):
            self._close_distinct(found, at)
            found.start, found.ranges = at + 1, 0
            found.xors += [at] * (word == "xor")
        elif word == "not" and at == found.start:
            found.start = at + 1
        elif word == "is":
            self._close_distinct(found, at)
            self._is(at, found)

    def _is(self, at: int, found: _Open) -> None:
        is_not = self._word(at + 1) == "not"
        what = self._word(at + 1 + is_not)
        found.is_distinct = what in ("distinct", "true", "false")
        if what in ("true", "false"):
            self.parts[self._places[at]] = "IS DISTINCT FROM" if is_not else "IS NOT DISTINCT FROM"
            if is_not:
                self.parts[self._places[at + 1]] = ""

    def _close_distinct(self, found: _Open, end: int) -> None:
        if found.is_distinct:
            self._group(found.start, end)
            found.is_distinct = False

    def _close(self, found: _Open, end: int) -> None:
        self._close_distinct(found, end)
        if found.xors:
            for first, behind in zip(
                [found.first, *(at + 1 for at in found.xors)], [*found.xors, end], strict=True
            ):
                self._group(first, behind)

    def _group(self, first: int, end: int) -> None:
        """Puts parentheses around some of the solid tokens; around none where an operand is missing."""
        if first < end:
            self.parts[self._places[first]] = f"({self.parts[self._places[first]]}"
            self.parts[self._places[end - 1]] += ")"
