"""Expressions over columns: conditions that say which rows to take, and computed columns.

    holds = Condition("score > 0.5", {"score": DOUBLE})
    holds({"score": np.array([0.4, 0.6])})  # -> array([False, True])

    double = Expressions({"y": "x * 2"}, {"x": DOUBLE})
    double({"x": np.array([1.0])})  # -> {"y": array([2.0])}

Both read the companions of nullable columns (``x?``). What polars raises for a row is raised for the whole batch: the
caller splits it to find the row. They pickle as their texts and are compiled again where they are loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from beam_ensembles.columns.polars_series import from_series, to_series
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.expressions.checks import compile_expression
from beam_ensembles.graph.expressions.errors import reason
from beam_ensembles.graph.expressions.types import polars_type
from beam_ensembles.graph.kinds import Columns, validity
from beam_ensembles.types import Array, Scalar, Type

if TYPE_CHECKING:
    import polars as pl

_TOO_LARGE: Final = {"float": 2.0**128 - 2.0**103, "float16": 65520.0}
"""From which number on a type of fractions rounds to infinity."""


class Conditions:
    """Evaluates several conditions: for which rows each holds.

    Args:
        texts: The conditions.
        types: The type of each column that they read; there may be more.

    Raises:
        ExpressionError: One is none; ``graph.expressions.check_condition`` says so before.
    """

    def __init__(self, texts: Sequence[str], types: Mapping[str, Type]) -> None:
        self._texts, self._types = tuple(texts), dict(types)
        found = [compile_expression(text, types) for text in texts]
        self._read = tuple(dict.fromkeys(column for one in found for column in one.columns))
        self._expressions = {
            f"case {at}": (one.expression.eq_missing(True) if one.type.nullable else one.expression).alias(
                f"case {at}"
            )
            for at, one in enumerate(found, start=1)
        }

    def __call__(self, columns: Columns) -> np.ndarray:
        """Evaluates the conditions.

        Args:
            columns: At least the columns that they read, with their companions; all of the same length.

        Returns:
            Truth values, ``[conditions, N]``; null counts as false.

        Raises:
            NodeError: ``expression_failed``: one cannot be evaluated for one of the rows.
        """
        frame = frame_of(columns, self._read, self._types)
        return np.stack([series.to_numpy() for series in _evaluated(frame, self._expressions)])

    def __reduce__(self) -> tuple[Any, ...]:
        return Conditions, (self._texts, self._types)


class Condition:
    """Evaluates one condition: for which rows it holds; takes and raises what ``Conditions`` does."""

    def __init__(self, text: str, types: Mapping[str, Type]) -> None:
        self._text, self._types = text, dict(types)
        self._conditions = Conditions([text], types)

    def __call__(self, columns: Columns) -> np.ndarray:
        """Returns truth values, ``[N]``; null counts as false."""
        found: np.ndarray = self._conditions(columns)[0]
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Condition, (self._text, self._types)


class Expressions:
    """Computes columns.

    Args:
        texts: The expression of each column.
        types: The type of each column that they read; there may be more.
        outputs: What each column shall be; a column that is missing has the type that its expression gives.

    Raises:
        ExpressionError: One of them cannot be compiled; ``graph.expressions.check_expression`` says so before.
    """

    def __init__(
        self, texts: Mapping[str, str], types: Mapping[str, Type], outputs: Mapping[str, Type] | None = None
    ) -> None:
        self._texts, self._types = dict(texts), dict(types)
        found = {name: compile_expression(text, types) for name, text in texts.items()}
        self._read = tuple(dict.fromkeys(column for one in found.values() for column in one.columns))
        self.outputs = {name: (outputs or {}).get(name, one.type) for name, one in found.items()}
        """The type of each column that it gives."""
        self._narrowed = frozenset(
            name
            for name, one in found.items()
            if _fractions(self.outputs[name]) not in ("", _fractions(one.type))
        )
        self._expressions = {
            name: (
                one.expression
                if name in self._narrowed
                else one.expression.cast(polars_type(self.outputs[name]))
            ).alias(name)
            for name, one in found.items()
        }

    def __call__(self, columns: Columns) -> dict[str, np.ndarray]:
        """Computes the columns.

        Args:
            columns: At least the columns that the expressions read, with their companions; all of the same length.

        Returns:
            The columns, and the companion of each that holds a null.

        Raises:
            NodeError: ``expression_failed``: one of them cannot be evaluated for one of the rows.
        """
        frame = frame_of(columns, self._read or tuple(self._types)[:1], self._types)
        found: dict[str, np.ndarray] = {}
        for series in _evaluated(frame, self._expressions):
            _check_years(series)
            type_ = self.outputs[series.name]
            if series.name in self._narrowed:
                _check_size(series, type_)
                series = series.cast(polars_type(type_))
            values, valid = from_series(series, type_)
            found[series.name] = values
            if valid is not None:
                found[validity(series.name)] = valid
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Expressions, (self._texts, self._types, self.outputs)


def frame_of(columns: Columns, names: Sequence[str], types: Mapping[str, Type]) -> pl.DataFrame:
    """Creates a frame of some of the columns, with nulls where their companions say that there is no value."""
    import polars as pl

    return pl.DataFrame(
        [to_series(name, columns[name], types[name], columns.get(validity(name))) for name in names]
    )


def _evaluated(frame: pl.DataFrame, expressions: Mapping[str, pl.Expr]) -> list[pl.Series]:
    """Evaluates expressions, each with its name; each series has as many items as the frame has rows."""
    import polars as pl

    rows = frame.height
    if rows == 1:
        # polars divides one row by a constant, but multiplies many by its inverse: a row's last bit must not tell
        frame = pl.DataFrame([series.new_from_index(0, 2) for series in frame.get_columns()])
    try:
        found = frame.select(*expressions.values())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise NodeError("expression_failed", _reason(frame, expressions, error)) from None
    if found.height != frame.height:  # all are constants
        return [series.new_from_index(0, rows) for series in found.get_columns()]
    return found.head(rows).get_columns()


def _check_years(series: pl.Series) -> None:
    """Checks that points in time have years that rows of all languages and files can hold.

    Raises:
        NodeError: ``expression_failed``: one has not.
    """
    import polars as pl

    if isinstance(series.dtype, pl.Datetime) and not series.dt.year().drop_nulls().is_between(1, 9999).all():
        text = "it gives a point in time outside of the years 1 to 9999"
        raise NodeError("expression_failed", f"'{series.name}' cannot be computed: {text}")


def _fractions(type_: Type) -> str:
    """Returns the name of a type of fractions, or of those in lists; empty for any other."""
    while isinstance(type_, Array):
        type_ = type_.element
    return type_.name if isinstance(type_, Scalar) and type_.name in ("double", *_TOO_LARGE) else ""


def _check_size(series: pl.Series, type_: Type) -> None:
    """Checks that fractions are not too large for a type of less precision, in which they would be infinite.

    Raises:
        NodeError: ``expression_failed``: one is.
    """
    import polars as pl

    most = _TOO_LARGE.get(_fractions(type_))
    flat = series
    while isinstance(flat.dtype, pl.List):
        flat = flat.explode()
    if most is None or not flat.dtype.is_numeric():
        return
    numbers = flat.cast(pl.Float64)
    wrong = flat.filter((numbers.abs() >= most) & numbers.is_finite())
    if len(wrong):
        text = f"it gives {wrong[0]!r}, which is too large for a {_fractions(type_)}"
        raise NodeError("expression_failed", f"'{series.name}' cannot be computed: {text}")


def _reason(frame: pl.DataFrame, expressions: Mapping[str, pl.Expr], error: BaseException) -> str:
    """Returns which of several expressions failed, and why."""
    import polars as pl

    for name, expression in expressions.items():
        try:
            frame.select(expression)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as own:
            return f"'{name}' cannot be computed: {reason(own)}"
    return f"an expression cannot be computed: {reason(error)}"
