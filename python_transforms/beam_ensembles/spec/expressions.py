"""Expressions (SQL): what they read, and polars' form of them.

An expression is looked at word by word before polars parses it: an unknown function, a subquery (polars would open the
files that it names) or a clock (polars would put the time in) never gets there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from beam_ensembles.spec.sql_checks import check_casts, check_words
from beam_ensembles.spec.sql_faults import reason
from beam_ensembles.spec.sql_precedence import regrouped
from beam_ensembles.spec.sql_tokens import ExpressionError, rendered, tokens_of

if TYPE_CHECKING:
    import polars as pl

CANNOT_BE_READ: Final = "polars cannot read it; look for a function that lacks its arguments"


def columns_of(text: str) -> tuple[str, ...]:
    """Returns the columns that an expression reads, each once, in order.

    Raises:
        ExpressionError: It does not parse, or does not look at one row alone.
    """
    return tuple(dict.fromkeys(parse(text).meta.root_names()))


def parse(text: str) -> pl.Expr:
    """Returns an expression as polars has it; numbers with a point are doubles, not decimals.

    Raises:
        ExpressionError: It does not parse, or does not look at one row alone.
    """
    import polars as pl

    tokens = list(tokens_of(text))
    check_words(tokens)
    check_casts(tokens)
    if not "".join(text.split()):
        raise ExpressionError("bad_expression", "there is nothing in the expression")
    try:
        return pl.sql_expr("".join(regrouped(tokens)))
    except pl.exceptions.PolarsError as error:
        parts = [rendered(token) for token in tokens]
        raise ExpressionError("bad_expression", reason(str(error), tokens, parts, text)) from error
    except pl.exceptions.PanicException as error:  # LEAST() without arguments; it is not an Exception
        raise ExpressionError("bad_expression", CANNOT_BE_READ) from error
