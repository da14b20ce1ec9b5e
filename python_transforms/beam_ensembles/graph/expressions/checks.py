"""Expressions against the columns that they read: which type comes out, and what is wrong with them.

check_condition("score > 0.5 AND NOT flag", types, report)  # -> True where it is a condition
check_expression("COALESCE(a, b) * 2", types, report)       # -> its type
compile_expression(text, types)                             # -> what a worker evaluates
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.expressions.errors import reason
from beam_ensembles.graph.expressions.growth import check_growth
from beam_ensembles.graph.expressions.mends import mended
from beam_ensembles.graph.expressions.nulls import items_may_be_null, may_be_null
from beam_ensembles.graph.expressions.operands import TOO_DEEP, Operands, empty_frame, expression_of
from beam_ensembles.graph.expressions.patterns import check_patterns
from beam_ensembles.graph.expressions.trees import Tree, check_rowwise, kind_of, nan_as_null
from beam_ensembles.graph.expressions.types import has_map, polars_type, type_of
from beam_ensembles.interruption import checkpoint
from beam_ensembles.spec.expressions import CANNOT_BE_READ, parse
from beam_ensembles.spec.sql_tokens import ExpressionError
from beam_ensembles.types import BOOLEAN, STRING, Array, Type

if TYPE_CHECKING:
    import polars as pl

Report = Callable[[str, str], None]
"""Takes the code and the message of a problem."""


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
    """An expression that was checked.

    Attributes:
        expression: What polars evaluates.
        type: What it gives.
        columns: The columns that it reads, each once, in order; there may be none.
    """

    expression: pl.Expr
    type: Type
    columns: tuple[str, ...]


def check_condition(text: str, types: Mapping[str, Type | None], report: Report) -> bool:
    """Checks a condition.

    Args:
        text: The condition.
        types: The type of each column that may be read; None where it is not known because of another mistake, about
            which nothing is reported.
        report: Takes what is wrong: ``bad_expression``, ``expression_not_rowwise``, ``unknown_column``,
            ``expression_type``, ``not_boolean`` or ``no_inputs``.

    Returns:
        Whether it is one, as far as that can be told.
    """
    found = _checked(text, types, report)
    if found is None:
        return False
    if found.type.required() != BOOLEAN:
        report(
            "not_boolean",
            f"it is {found.type}, not a condition; compare it, as in {_compared(text, found.type)}",
        )
        return False
    if not found.columns:
        report(
            "no_inputs", "the condition reads no column, so that it is the same for every row; leave it out"
        )
        return False
    return True


def check_expression(text: str, types: Mapping[str, Type | None], report: Report) -> Type | None:
    """Checks an expression.

    Args:
        text: The expression.
        types: As for ``check_condition``.
        report: Takes what is wrong, as for ``check_condition``.

    Returns:
        What it gives, nullable where it can be null; None where it cannot be told or something was reported.
    """
    found = _checked(text, types, report)
    return None if found is None else found.type


def _checked(text: str, types: Mapping[str, Type | None], report: Report) -> Compiled | None:
    checkpoint()
    try:
        read = parse(text).meta.root_names()
        if any(name in types and types[name] is None for name in read):
            return None
        return compile_expression(text, types)
    except ExpressionError as error:
        report(error.code, str(error))
        return None


def compile_expression(text: str, types: Mapping[str, Type | None]) -> Compiled:
    """Returns what a worker evaluates of an expression.

    NaN counts as null wherever numbers are compared. Tensors are lists, counted from 1.

    Args:
        text: The expression.
        types: The type of each column that may be read.

    Raises:
        ExpressionError: With one of the codes of ``check_condition`` but ``not_boolean`` and ``no_inputs``.
    """
    import polars as pl

    parsed = parse(text)
    columns = tuple(dict.fromkeys(parsed.meta.root_names()))
    read = _types_read(columns, types)
    try:
        tree = json.loads(parsed.meta.serialize(format="json"))
        check_rowwise(tree)
        check_growth(tree)
        check_patterns(tree)
        operands = Operands(read)
        operands.check(tree)
        changed = nan_as_null(mended(tree, read), operands.is_float)
        expression = parsed if changed is tree else expression_of(changed)
        type_ = read[columns[0]].required() if _is_column(tree) else _type(expression, read)
        is_nullable, has_nulls = may_be_null(changed, read), items_may_be_null(changed, read)
    except RecursionError as error:
        raise ExpressionError("bad_expression", TOO_DEEP) from error
    except pl.exceptions.PanicException as error:  # it is not an Exception, and would end the request
        raise ExpressionError("bad_expression", CANNOT_BE_READ) from error
    if isinstance(type_, Array) and has_nulls and not _is_column(tree):
        type_ = Array(type_.element.optional())
    return Compiled(expression, type_.optional() if is_nullable else type_, columns)


def _is_column(tree: Tree) -> bool:
    return kind_of(tree)[0] == "Column"


def _types_read(columns: tuple[str, ...], types: Mapping[str, Type | None]) -> dict[str, Type]:
    read: dict[str, Type] = {}
    for column in columns:
        type_ = types.get(column)
        if type_ is None:
            known = listed(list(itertools.islice(types, 12)), total=len(types))
            message = f"there is no column '{column}'{nearest(column, types)} (columns: {known})"
            raise ExpressionError("unknown_column", message)
        if has_map(type_):
            message = f"'{column}' is {type_}; expressions cannot read maps"
            raise ExpressionError("expression_type", message)
        read[column] = type_
    return read


def _type(expression: pl.Expr, types: Mapping[str, Type]) -> Type:
    """Returns the type of what an expression gives, without saying whether it can be null."""
    import polars as pl

    empty = empty_frame(types)
    nulls = pl.DataFrame(
        {column: [None] for column in types} or {"": [None]}, schema_overrides=_overrides(types)
    )
    try:
        dtype = empty.select(found=expression).collect_schema()["found"]
        nulls.select(found=expression)  # finds what only shows when it runs, such as a bad regular expression
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        read = ", ".join(f"{column} is {type_}" for column, type_ in types.items())
        raise ExpressionError("expression_type", f"{reason(error)}{read and f' ({read})'}") from error
    found = type_of(dtype)
    if found is None:
        message = f"it gives {_named(dtype)}, which no column can hold; cast it, as in CAST(... AS VARCHAR)"
        raise ExpressionError("expression_type", message)
    return found


def _overrides(types: Mapping[str, Type]) -> dict[str, Any]:
    return {column: polars_type(type_) for column, type_ in types.items()}


def _named(dtype: pl.DataType) -> str:
    name = str(dtype.base_type()).lower()
    return "nothing but null" if name == "null" else f"a {name}"


def _compared(text: str, type_: Type) -> str:
    other = "= 'yes'" if type_.required() == STRING else "> 0"
    return f"{text} {other}" if len(text) <= 40 else f"x {other}"
