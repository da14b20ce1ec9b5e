"""Columns -> Arrow arrays of their types; numbers are not copied where their dtype is the type's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from beam_ensembles.columns.arrow_types import arrow_type
from beam_ensembles.columns.convert import to_values
from beam_ensembles.columns.timestamps import as_micros
from beam_ensembles.types import Array, Scalar, Type, dtype_of, has_instants


def array_of(column: np.ndarray, type_: Type, valid: np.ndarray | None = None) -> pa.Array:
    """Creates an Arrow array of a column.

    Args:
        column: The column, as a node gives it: shape ``[N, ...]``, or objects.
        type_: Its type; the items of a tensor are written row-major.
        valid: Which of its rows have a value; None: all.

    Raises:
        pyarrow.ArrowException: A value is none of the type.
    """
    if valid is not None and not valid.all():
        found = array_of(column[valid], type_)
        places = np.cumsum(valid) - 1
        return found.take(pa.array(places, mask=~valid))
    dtype = dtype_of(type_.element if isinstance(type_, Array) else type_)
    if dtype is None or column.dtype == object:
        is_list = isinstance(type_, Array) and type_.shape is None and isinstance(type_.element, Scalar)
        values = list(column) if dtype is not None and is_list else to_values(column, type_)
        return array_of_values(values, type_)
    flat = pa.array(np.ascontiguousarray(column, dtype=dtype).reshape(-1))
    if not isinstance(type_, Array):
        return flat
    width = len(flat) // len(column) if len(column) else 0
    offsets = np.arange(len(column) + 1, dtype=np.int32) * np.int32(width)
    return pa.ListArray.from_arrays(pa.array(offsets), flat, type=arrow_type(type_))


def array_of_values(values: Sequence[Any], type_: Type) -> pa.Array:
    """Creates an Arrow array of a type from values as rows hold them, None where there is none."""
    if has_instants(type_):
        values = [as_micros(value, type_) for value in values]
    return pa.array(values, arrow_type(type_))
