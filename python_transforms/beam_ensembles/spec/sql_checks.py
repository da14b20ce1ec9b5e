"""Refuses what polars should not even parse: unknown functions, other rows, the time, chance, unknown types."""

from __future__ import annotations

import itertools
import re
from typing import Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.limits import MOST_OPERATORS
from beam_ensembles.spec.sql_functions import AMBIGUOUS, CLOCKS, FUNCTIONS, NOT_ROWWISE
from beam_ensembles.spec.sql_tokens import ExpressionError, Token

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

_TIMES: Final = frozenset(("date", "datetime", "timestamp"))
_TIME: Final = re.compile(r"'\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]00(:?00)?)?)?'", re.ASCII)

_CAST_WORDS: Final = frozenset(name.lower() for name in CAST_TYPES)
_BEHIND_TYPES: Final = frozenset(("array", "unsigned", "varying", "with", "without"))

_ESCAPES: Final = re.compile(r"\\[%_]")

_OTHER_ROWS: Final = frozenset(("exists", "over", "select"))


def check_words(tokens: list[Token]) -> None:
    """Refuses what polars should not even parse, and functions that are not on the list."""
    for token, after in itertools.pairwise([*tokens, Token("sign", "", 0)]):
        if token.word and after.kind in ("text", "quoted") and token.word not in ("like", "ilike"):
            message = f"put a space behind '{token.text}' at character {token.at + 1}"
            raise ExpressionError("bad_expression", message)
    if sum(token.is_operator for token in tokens) > MOST_OPERATORS:
        message = f"the expression has more than {MOST_OPERATORS} operators; make it several columns"
        raise ExpressionError("bad_expression", message)
    solid = [token for token in tokens if token.kind != "space"]
    _check_any(solid)
    _check_times(solid)
    _check_escapes(solid)
    before = Token("sign", "", 0)
    for token, after in itertools.pairwise([*solid, Token("sign", "", 0)]):
        is_type = before.word == "as" or before.text == ":"
        is_field, before = before.text == ".", token
        if token.word in _OTHER_ROWS or (token.word in CLOCKS and not is_field):
            raise ExpressionError("expression_not_rowwise", _not_rowwise(token))
        if token.word and after.text == "(" and token.word not in _BEFORE_PARENTHESES and not is_type:
            _check_function(token)


def _check_any(solid: list[Token]) -> None:
    """Refuses ``x <> ANY(list)``, of which polars makes ``NOT x = ANY(list)``; SQL means another thing."""
    for at, (token, after) in enumerate(itertools.pairwise(solid)):
        if token.word != "any" or after.text != "(":
            continue
        signs = itertools.takewhile(lambda one: one.text in ("<", ">", "=", "!"), reversed(solid[:at]))
        operator = "".join(sign.text for sign in signs)[::-1]
        if operator != "=":
            message = (
                f"only '=' can stand before ANY (character {token.at + 1}), not '{operator}'; "
                "what is in no item of a list is NOT x = ANY(list)"
            )
            raise ExpressionError("bad_expression", message)


def _check_times(solid: list[Token]) -> None:
    """Refuses constants of time of which polars would leave out the offset, or guess the day and the month."""
    end = Token("sign", "", 0)
    padded = [end, *solid, end, end, end]
    for before, token, *after in zip(*(padded[at:] for at in range(5)), strict=False):
        if token.kind != "text" or _TIME.fullmatch(token.text):
            continue
        is_cast = after[0].word == "as" or after[0].text == after[1].text == ":"
        kinds = (before.word, after[1 if after[0].word else 2].word if is_cast else "")
        if _TIMES.intersection(kinds):
            message = (
                f"{token.text} at character {token.at + 1} is not a time in UTC, which is written like "
                "TIMESTAMP '2026-01-31 13:45:00' or DATE '2026-01-31', without an offset"
            )
            raise ExpressionError("bad_expression", message)


def _check_escapes(solid: list[Token]) -> None:
    """Refuses a backslash before a wildcard of ``LIKE``: some databases take it for an escape, others for itself."""
    for token, after in itertools.pairwise(solid):
        if (
            token.word in ("like", "ilike")
            and after.kind == "text"
            and (found := _ESCAPES.search(after.text))
        ):
            wildcard = found.group()[1]
            message = (
                f"{token.text.upper()} has no escapes, and '{found.group()}' stands in {after.text} at character "
                f"{after.at + 1}; to find a '{wildcard}' itself use a regular expression, as in text ~ "
                f"'^a{wildcard}', or STARTS_WITH, ENDS_WITH"
            )
            raise ExpressionError("bad_expression", message)


def check_casts(tokens: list[Token]) -> None:
    """Refuses types of ``CAST`` and ``::`` that are not on the list, and lengths, which polars would not keep to."""
    solid = [token for token in tokens if token.kind != "space"]
    end = Token("sign", "", 0)
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


def _check_function(token: Token) -> None:
    if token.word in FUNCTIONS:
        return
    if token.word in NOT_ROWWISE:
        raise ExpressionError("expression_not_rowwise", _not_rowwise(token))
    if token.word in AMBIGUOUS:
        message = f"'{token.text}' (character {token.at + 1}) is not one function: {AMBIGUOUS[token.word]}"
        raise ExpressionError("bad_expression", message)
    near = nearest(token.word, FUNCTIONS)
    message = f"there is no function '{token.text}' (character {token.at + 1}){near}"
    raise ExpressionError("bad_expression", message)


def _not_rowwise(token: Token) -> str:
    reason = "the time" if token.word in CLOCKS else "other rows, the time or chance"
    return (
        f"'{token.text}' at character {token.at + 1} would make a row's value depend on {reason}; an expression looks "
        f"at one row alone (a column of that name is written in double quotes)"
    )
