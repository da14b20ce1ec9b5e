"""Expressions (SQL): what they read, and what is wrong with their text.

An expression is looked at word by word before polars parses it: an unknown function, a subquery (polars would open the
files that it names) or a clock (polars would put the time in) never gets there.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.spec.sql_functions import CLOCKS, FUNCTIONS, NOT_ROWWISE

if TYPE_CHECKING:
    import polars as pl

LONGEST: Final = 8192
"""How many characters an expression may have."""

MOST_OPERATORS: Final = 250
"""How many operators it may have: polars goes through them by recursion, and a thread's stack has an end."""

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
_BEFORE_PARENTHESES: Final = frozenset(
    (
        "all", "and", "any", "between", "by", "case", "char", "dec", "decimal", "else", "from", "ilike", "in", "is",
        "like", "not", "numeric", "or", "regexp", "rlike", "then", "varchar", "when", "xor",
    )
)  # fmt: skip
"""Words that may stand before a parenthesis without being functions."""

CAST_TYPES: Final = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "REAL", "DOUBLE", "VARCHAR", "TEXT", "STRING",
    "BYTEA", "DATE", "TIMESTAMP",
)  # fmt: skip
"""The types of ``CAST``."""

_CAST_WORDS: Final = frozenset(name.lower() for name in CAST_TYPES)
_BEHIND_TYPES: Final = frozenset(("array", "unsigned", "varying", "with", "without"))

_OPERATORS: Final = frozenset(("and", "or", "not", "xor", "case", "is", "like", "ilike", "between", "in"))
_OTHER_ROWS: Final = frozenset(("exists", "over", "select"))
_PLAIN_NAMES: Final = frozenset(
    (
        "current_user", "fetch", "group", "having", "into", "join", "limit", "offset", "order", "partition",
        "session_user", "struct", "top", "union", "user", "values", "view", "where", "window", "with",
    )
)  # fmt: skip
"""Words of SQL that mean nothing in an expression, so that they are columns, quoted or not."""

_NO_OPERATOR: Final = re.compile(r"No infix parser for token .*value: \"([^\"]*)\".*", re.IGNORECASE)
_KEYWORD: Final = re.compile(r"expected an expression \(found '(\w+)' clause\)")
_PLACE: Final = re.compile(r" at Line: (\d+), Column: (\d+)")


class ExpressionError(ValueError):
    """An expression that cannot be taken.

    Args:
        code: ``bad_expression``, ``expression_not_rowwise``, and what ``graph.expressions`` finds besides.
        message: What is wrong, where in the expression, and what is allowed.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclasses.dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind == "word" else ""

    @property
    def is_operator(self) -> bool:
        return (self.kind == "sign" and self.text not in ",.()") or self.word in _OPERATORS


def columns_of(text: str) -> tuple[str, ...]:
    """Gives the columns that an expression reads, each once, in order.

    Raises:
        ExpressionError: It does not parse, or does not look at one row alone.
    """
    return tuple(dict.fromkeys(parse(text).meta.root_names()))


def parse(text: str) -> pl.Expr:
    """Gives an expression as polars has it; numbers with a point are doubles, not decimals.

    Raises:
        ExpressionError: It does not parse, or does not look at one row alone.
    """
    import polars as pl

    tokens = list(_tokens(text))
    _check_words(tokens)
    _check_casts(tokens)
    if not "".join(text.split()):
        raise ExpressionError("bad_expression", "there is nothing in the expression")
    parts = [_rendered(token) for token in tokens]
    try:
        return pl.sql_expr("".join(parts))
    except pl.exceptions.PolarsError as error:
        raise ExpressionError("bad_expression", _reason(str(error), tokens, parts, text)) from error


def _tokens(text: str) -> Iterator[_Token]:
    if len(text) > LONGEST:
        message = f"the expression has {len(text)} characters, more than {LONGEST}; make it several columns"
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
        yield _Token(kind, found.group(), at)
        at = found.end()


def _unexpected(text: str, at: int) -> str:
    if text[at] in "'\"":
        what = "text" if text[at] == "'" else "name"
        return f"the {what} that starts at character {at + 1} has no end: {text[at : at + 20].strip()}"
    return f"{text[at]!r} at character {at + 1} is no part of an expression"


def _check_words(tokens: list[_Token]) -> None:
    """Refuses what polars should not even parse, and functions that are not on the list."""
    for token, after in itertools.pairwise([*tokens, _Token("sign", "", 0)]):
        if token.word and after.kind in ("text", "quoted") and token.word not in ("like", "ilike"):
            message = f"put a space behind '{token.text}' at character {token.at + 1}"
            raise ExpressionError("bad_expression", message)
    if sum(token.is_operator for token in tokens) > MOST_OPERATORS:
        message = f"the expression has more than {MOST_OPERATORS} operators; make it several columns"
        raise ExpressionError("bad_expression", message)
    solid = [token for token in tokens if token.kind != "space"]
    before = _Token("sign", "", 0)
    for token, after in itertools.pairwise([*solid, _Token("sign", "", 0)]):
        is_type = before.word == "as" or before.text == ":"
        is_field, before = before.text == ".", token
        if token.word in _OTHER_ROWS or (token.word in CLOCKS and not is_field):
            raise ExpressionError("expression_not_rowwise", _not_rowwise(token))
        if token.word and after.text == "(" and token.word not in _BEFORE_PARENTHESES and not is_type:
            _check_function(token)


def _check_casts(tokens: list[_Token]) -> None:
    """Refuses types of ``CAST`` and ``::`` that are not on the list, and lengths, which polars would not keep to."""
    solid = [token for token in tokens if token.kind != "space"]
    end = _Token("sign", "", 0)
    is_cast: list[bool] = []
    for at, token in enumerate(solid):
        type_, after = (*solid[at + 1 : at + 3], end, end)[:2]
        if token.text == "(":
            is_cast.append(at > 0 and solid[at - 1].word in ("cast", "try_cast"))
        elif token.text == ")" and is_cast:
            is_cast.pop()
        casts = token.word == "as" and is_cast and is_cast[-1]
        if not casts and (token.text != ":" or at == 0 or solid[at - 1].text != ":"):
            continue
        allowed = f"(allowed: {listed(CAST_TYPES)}, and lists of them, such as INT[])"
        place = f"(character {type_.at + 1})"
        if type_.word not in _CAST_WORDS:
            message = f"nothing is cast to '{type_.text}' {place}{nearest(type_.word.upper(), CAST_TYPES)} {allowed}"
            raise ExpressionError("bad_expression", message)
        if after.text == "(" or after.word in _BEHIND_TYPES:
            message = f"leave '{after.text}' out behind '{type_.text}' {place}: a type stands alone {allowed}"
            raise ExpressionError("bad_expression", message)


def _check_function(token: _Token) -> None:
    if token.word in FUNCTIONS:
        return
    if token.word in NOT_ROWWISE:
        raise ExpressionError("expression_not_rowwise", _not_rowwise(token))
    near = nearest(token.word, FUNCTIONS)
    message = f"there is no function '{token.text}' (character {token.at + 1}){near}"
    raise ExpressionError("bad_expression", message)


def _not_rowwise(token: _Token) -> str:
    reason = "the time" if token.word in CLOCKS else "other rows, the time or chance"
    return (
        f"'{token.text}' at character {token.at + 1} would make a row's value depend on {reason}; an expression looks "
        f"at one row alone (a column of that name is written in double quotes)"
    )


def _rendered(token: _Token) -> str:
    """Gives a token as polars gets it: on one line, and numbers with a point as doubles."""
    if token.kind == "space":
        return " "
    if token.kind == "number" and "." in token.text and "e" not in token.text.lower():
        return f"{token.text}e0"
    return f'"{token.text}"' if token.word in _PLAIN_NAMES else token.text


def _reason(error: str, tokens: list[_Token], parts: list[str], text: str) -> str:
    """Says in one line why polars does not parse an expression, and where if that can be found out."""
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
        return f"'{text[:60]}' is no SQL expression of the kind that can stand here"
    return (
        line.replace("invalid expression (", "").removesuffix(")") if "invalid expression" in line else line
    )


def _syntax_error(tokens: list[_Token], parts: list[str]) -> tuple[str, int] | None:
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
        what = _NO_OPERATOR.sub(r"'\1' is no operator", what)
        column = sum(map(len, parts)) if place is None else int(place.group(2)) - 1 - len(start)
        return None if place is not None and place.group(1) != "1" else (what[:1].lower() + what[1:], column)
    return None
