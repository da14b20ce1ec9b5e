"""Columns with their companions <-> polars' series; numbers are not copied where polars takes them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from beam_ensembles.columns.from_arrow import values_of
from beam_ensembles.columns.to_arrow import array_of
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.expressions.types import polars_type
from beam_ensembles.types import Scalar, Type, dtype_of, row_shape

if TYPE_CHECKING:
    import polars as pl

_TEXTS: Final = ("string", "bytes")


def to_series(name: str, values: np.ndarray, type_: Type, valid: np.ndarray | None) -> pl.Series:
    """Creates a series of a column.

    Args:
        name: The column's name.
        values: The column: shape ``[N, ...]``, or objects.
        type_: Its type, no map; the rows of a tensor become lists.
        valid: Which of its rows have a value; None: all.
    """
    import polars as pl

    if valid is not None and valid.all():
        valid = None
    dtype = dtype_of(type_)
    if dtype is not None and values.dtype != object:
        if dtype == np.float16:
            values = values.astype(np.float32)
        if not row_shape(type_):
            return _numbers(name, values, valid)
        series = _of_arrow(name, _lists(values, valid))
    elif isinstance(type_, Scalar) and type_.name in _TEXTS and valid is None:
        return pl.Series(name, values.tolist(), dtype=polars_type(type_))
    else:
        series = _of_arrow(name, array_of(values, type_, valid))
    wanted = polars_type(type_)
    return series if series.dtype == wanted else series.cast(wanted)


def _numbers(name: str, values: np.ndarray, valid: np.ndarray | None) -> pl.Series:
    import polars as pl

    if valid is None:
        return pl.Series(name, np.ascontiguousarray(values))
    return _of_arrow(name, pa.array(values, mask=~valid))


def _of_arrow(name: str, array: pa.Array) -> pl.Series:
    import polars as pl

    return pl.Series(name, array)


def _lists(values: np.ndarray, valid: np.ndarray | None) -> pa.Array:
    """Creates lists of tensors, of lists where they have several dimensions."""
    found = pa.array(np.ascontiguousarray(values).reshape(-1))
    for axis in reversed(range(1, values.ndim)):
        count = int(np.prod(values.shape[:axis], dtype=np.int64))
        offsets = pa.array(np.arange(count + 1, dtype=np.int64) * values.shape[axis])
        mask = pa.array(~valid) if axis == 1 and valid is not None else None
        found = pa.LargeListArray.from_arrays(offsets, found, mask=mask)
    return found


def from_series(series: pl.Series, type_: Type) -> tuple[np.ndarray, np.ndarray | None]:
    """Creates a column of a series.

    Args:
        series: What polars gave, of ``polars_type(type_)``.
        type_: What the column shall be; the rows of a tensor are lists of its length.

    Returns:
        The values, and which of the rows have one (None: all); the others hold zeros, or None.

    Raises:
        NodeError: ``expression_failed``: there are nulls and the type is not nullable, or a list has another length.
    """
    if not series.null_count():
        return _values(series, type_), None
    if not type_.nullable:
        raise NodeError("expression_failed", f"it gives null where '{series.name}' is {type_}")
    valid = series.is_not_null().to_numpy()
    found = _values(series.drop_nulls(), type_.required())
    spread = np.zeros((len(valid), *found.shape[1:]), dtype=found.dtype)
    if found.dtype == object:
        spread[...] = None
    spread[valid] = found
    return spread, valid


def _values(series: pl.Series, type_: Type) -> np.ndarray:
    """Creates a column of a series without nulls."""
    import polars as pl

    dtype, shape = dtype_of(type_), row_shape(type_)
    if dtype is not None:
        flat = _items(series, type_, shape)
        numbers = flat.to_numpy().astype(dtype, copy=False)
        return numbers.reshape(len(series), *shape)
    if isinstance(type_, Scalar) and type_.name in _TEXTS:
        return series.to_numpy().astype(object, copy=False)
    plain = series.cast(polars_type(type_, pl.Int64()))
    values = values_of(plain.to_arrow(), type_)
    return np.fromiter(values, dtype=object, count=len(values))


def _items(series: pl.Series, type_: Type, shape: tuple[int, ...]) -> pl.Series:
    """Returns the numbers in lists that all have the lengths of a shape, one after the other."""
    for length in shape:
        if not len(series):
            break
        if not (series.list.len() == length).all():
            raise NodeError("expression_failed", f"it gives lists of other lengths than {type_} has")
        series = series.explode()
        if series.null_count():
            raise NodeError("expression_failed", f"it gives lists that hold nulls, {type_} takes none")
    return series
