"""Explains why polars does not parse an expression: in one line, with the place."""

from __future__ import annotations

import bisect
import itertools
import re
from typing import Final

from beam_ensembles.spec.sql_tokens import Token

_NO_OPERATOR: Final = re.compile(r"No infix parser for token .*value: \"([^\"]*)\".*", re.IGNORECASE)
_KEYWORD: Final = re.compile(r"expected an expression \(found '(\w+)' clause\)")
_PLACE: Final = re.compile(r" at Line: (\d+), Column: (\d+)")


def reason(error: str, tokens: list[Token], parts: list[str], text: str) -> str:
    """Returns in one line why polars does not parse an expression, and where if that can be found out."""
    if keyword := _KEYWORD.search(error):
        word = keyword.group(1)
        at = next((token.at + 1 for token in tokens if token.word == word.lower()), 1)
        return (
            f"'{word}' at character {at} is a word of SQL; a column of that name is written in double quotes"
        )
    found = _syntax_error(tokens, parts)
    if found is not None:
        said, column = found
        starts = list(itertools.accumulate(map(len, parts), initial=0))
        at = bisect.bisect_right(starts, column) - 1
        if at >= len(tokens):
            return f"it does not parse at its end: {said}"
        place = tokens[at].at + column - starts[at] + 1
        return f"it does not parse at character {place}: {said}"
    line = error.strip().splitlines()[0] if error.strip() else ""
    if line.startswith("unable to parse") or "Ident" in line or "{" in line or not line:
        return f"'{text[:60]}' is not an SQL expression that is allowed here"
    return (
        line.replace("invalid expression (", "").removesuffix(")") if "invalid expression" in line else line
    )


def _syntax_error(tokens: list[Token], parts: list[str]) -> tuple[str, int] | None:
    """Asks the parser of whole statements, which says more: what it wants, and at which character."""
    import polars as pl

    if any(token.word == "from" for token in tokens):
        return None  # so that nothing can be read from anywhere
    start = "SELECT "
    try:
        pl.SQLContext().execute(f"{start}{''.join(parts)}")
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("sql parser error: ")[2].split("\n")[0]
        place = _PLACE.search(said)
        if not said:
            return None
        what = _PLACE.sub("", said).replace("EOF", "the end").strip()
        what = what.replace("Expected: ", "expected ").replace("found: ", "found ")
        what = _NO_OPERATOR.sub(r"'\1' is not an operator", what)
        column = sum(map(len, parts)) if place is None else int(place.group(2)) - 1 - len(start)
        return None if place is not None and place.group(1) != "1" else (what[:1].lower() + what[1:], column)
    return None
