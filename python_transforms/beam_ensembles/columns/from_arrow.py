"""Arrow arrays -> columns, without copying numbers where the layout allows, and with the faults that rows have.

Numbers stay where Arrow has them: a column is a view of the message's bytes and cannot be written to. Text and bytes
become Python objects, as models take them; so do lists of any length, maps and rows, only where a model reads them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.columns.convert import Converted, bad_text, fault, to_column
from beam_ensembles.errors import NodeError
from beam_ensembles.types import Array, Map, Row, Scalar, Type, dtype_of, row_shape, width_of

_NO_UTF8: Final = (pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises where a text is not UTF-8, of a whole array and of one value."""


def column_of(array: pa.Array, type_: Type, name: str) -> Converted:
    """Creates a column of declared type from an Arrow array, with the same faults as ``to_column`` has for its values.

    Args:
        array: One value per row, of the declared type or of one that widens to it.
        type_: The declared type; a tensor's values are lists, row-major.
        name: The column's name, for messages.

    Returns:
        The array and the rows that are not in it. Numbers have the declared dtype and shape ``[N, ...]``; everything
        else is an array of objects.
    """
    dtype = dtype_of(type_)
    if dtype is None:
        if isinstance(type_, Scalar) and type_.name != "timestamp" and array.null_count == 0:
            with contextlib.suppress(*_NO_UTF8):
                return Converted(array.to_numpy(zero_copy_only=False), {})
        try:
            return to_column(values_of(array, type_), type_, name)
        except _NO_UTF8:
            return _of_good_texts(array, type_, name)
    good = _good_tensors(array, type_) if isinstance(type_, Array) else _good_scalars(array)
    if good is None:
        return Converted(_numbers(array, type_, dtype), {})
    bad = np.flatnonzero(~good)
    values = array.take(pa.array(bad)).to_pylist()
    faults = {at: fault(value, type_, name) for at, value in zip(bad.tolist(), values, strict=True)}
    return Converted(_numbers(array.filter(pa.array(good)), type_, dtype), faults)


def _of_good_texts(array: pa.Array, type_: Type, name: str) -> Converted:
    """Creates a column of the values whose texts are UTF-8, which Arrow does not look at before Python reads them."""
    good: list[Any] = []
    faults: dict[int, NodeError] = {}
    for at in range(len(array)):
        try:
            good += values_of(array.slice(at, 1), type_)
        except _NO_UTF8:
            faults[at] = bad_text(name)
    places = np.delete(np.arange(len(array)), list(faults))
    return to_column(good, type_, name).among(places, faults)


def _numbers(array: pa.Array, type_: Type, dtype: np.dtype) -> np.ndarray:
    flat = array.flatten() if isinstance(type_, Array) else array
    values = flat.to_numpy(zero_copy_only=False)
    if values.dtype != dtype:
        values = values.astype(dtype)
    shaped: np.ndarray = values.reshape(len(array), *row_shape(type_))
    return shaped


def _good_scalars(array: pa.Array) -> np.ndarray | None:
    """Returns for each row whether it has a value; None where all have."""
    if array.null_count == 0:
        return None
    found: np.ndarray = array.is_valid().to_numpy(zero_copy_only=False)
    return found


def _good_tensors(array: pa.Array, type_: Type) -> np.ndarray | None:
    """Returns for each row whether its list has the right length and no null; None where all are so."""
    width = width_of(type_)
    items = array.flatten()
    if array.null_count == 0 and items.null_count == 0 and _all_have(array, width):
        return None
    lengths = pc.list_value_length(array).fill_null(-1).to_numpy(zero_copy_only=False)
    good: np.ndarray = lengths == width
    if items.null_count:
        parents = pc.list_parent_indices(array).filter(items.is_null())
        good[parents.to_numpy(zero_copy_only=False)] = False
    return good


def _all_have(array: pa.Array, width: int | None) -> bool:
    if pa.types.is_fixed_size_list(array.type):
        return bool(array.type.list_size == width)
    offsets = array.offsets.to_numpy()
    return bool((offsets[1:] - offsets[:-1] == width).all())


def values_of(array: pa.Array, type_: Type) -> list[Any]:
    """Returns the values of an Arrow array as rows hold them; a nested row is a ``dict``."""
    values: list[Any] = array.to_pylist(maps_as_pydicts="lossy")
    convert = _converter(type_)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def values_with_bad_texts(array: pa.Array, type_: Type) -> list[Any]:
    """Returns what ``values_of`` does, and for a row with a text that is not UTF-8 a text that no column takes."""
    try:
        return values_of(array, type_)
    except _NO_UTF8:
        if len(array) <= 1:
            return ["\udcff"] * len(array)
        return [
            value for at in range(len(array)) for value in values_with_bad_texts(array.slice(at, 1), type_)
        ]


def _converter(type_: Type) -> Callable[[Any], Any] | None:
    """Returns what makes points in time of the microseconds in a value; None where it holds none."""
    if isinstance(type_, Array):
        item = _converter(type_.element)
        return None if item is None else lambda value: [x if x is None else item(x) for x in value]
    if isinstance(type_, Map):
        key, of = _converter(type_.key) or _same, _converter(type_.value) or _same
        if (key, of) == (_same, _same):
            return None
        return lambda value: {key(k): v if v is None else of(v) for k, v in value.items()}
    if isinstance(type_, Row):
        fields = {name: found for name, field in type_.fields if (found := _converter(field))}
        return (lambda value: _with_fields(value, fields)) if fields else None
    return _instant if isinstance(type_, Scalar) and type_.name == "timestamp" else None


def _same(value: Any) -> Any:
    return value


def _instant(micros: int) -> Timestamp:
    return Timestamp(micros=micros)


def _with_fields(value: dict[str, Any], fields: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    found = {name: of(value[name]) for name, of in fields.items() if value[name] is not None}
    return {**value, **found}
