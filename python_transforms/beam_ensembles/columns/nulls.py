"""Columns with nulls: values in all slots, and a companion that says which of them mean something.

The companion of a column is ``graph.kinds.validity(name)``; the slots of rows without a value hold zeros, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from beam_ensembles.columns.convert import Converted, to_column
from beam_ensembles.columns.from_arrow import column_of
from beam_ensembles.columns.timestamps import truncated
from beam_ensembles.types import Type, dtype_of, row_shape


def blank(rows: int, type_: Type) -> np.ndarray:
    """Creates a column of a type without a value in any of its rows."""
    dtype = dtype_of(type_)
    if dtype is None:
        return np.full(rows, None, dtype=object)
    return np.zeros((rows, *row_shape(type_)), dtype=dtype)


def spread(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Puts values to the rows that have one.

    Args:
        values: One leading item for each row that has one, in order.
        present: Which rows have one, ``[N]``.

    Returns:
        ``[N, ...]``, with zeros or None in the other rows.
    """
    found = np.zeros((len(present), *values.shape[1:]), dtype=values.dtype)
    if values.dtype == object:
        found[...] = None
    found[present] = values
    return found


def nullable_column(values: Sequence[Any], type_: Type, name: str) -> tuple[Converted, np.ndarray | None]:
    """Creates a column of a nullable type of the values of its rows.

    Args:
        values: One a row, None where there is none.
        type_: The declared type.
        name: The column's name, for messages.

    Returns:
        The column with its faults as ``to_column`` gives them, and which of its items have a value; None: all.
    """
    present = np.fromiter((value is not None for value in values), dtype=np.bool_, count=len(values))
    if present.all():
        return to_column(values, type_.required(), name), None
    return _around_nulls(
        to_column([value for value in values if value is not None], type_.required(), name), present, type_
    )


def field_of_values(
    values: Sequence[Any], type_: Type, name: str, truncates: bool = False
) -> tuple[Converted, np.ndarray | None]:
    """Creates a column of a field's values; gives what ``nullable_column`` gives.

    Args:
        values: One a row.
        type_: The declared type.
        name: The column's name, for messages.
        truncates: Whether points in time lose their nanoseconds.
    """
    if truncates:
        values = list(map(truncated, values))
    return nullable_column(values, type_, name) if type_.nullable else (to_column(values, type_, name), None)


def nullable_arrow_column(array: pa.Array, type_: Type, name: str) -> tuple[Converted, np.ndarray | None]:
    """Creates a column of a nullable type of an Arrow array; gives what ``nullable_column`` gives."""
    if array.null_count == 0:
        return column_of(array, type_.required(), name), None
    present = array.is_valid().to_numpy(zero_copy_only=False)
    return _around_nulls(column_of(array.drop_null(), type_.required(), name), present, type_)


def _around_nulls(found: Converted, present: np.ndarray, type_: Type) -> tuple[Converted, np.ndarray | None]:
    """Puts a column that was made of the values alone back between the nulls."""
    faults = found.among(np.flatnonzero(present), {}).faults
    good = np.delete(present, list(faults))
    values = spread(found.values, good) if len(found.values) else blank(len(good), type_)
    return Converted(values, faults), good


def values_with_nulls(
    column: np.ndarray, valid: np.ndarray | None, to_values: Callable[[np.ndarray], list[Any]]
) -> list[Any]:
    """Returns the values of a column as rows hold them, None where there is none.

    Args:
        column: The column.
        valid: Which of its rows have a value; None: all.
        to_values: Gives the values of a column without nulls.
    """
    if valid is None or valid.all():
        return to_values(column)
    values = iter(to_values(column[valid]))
    return [next(values) if has_value else None for has_value in valid.tolist()]
