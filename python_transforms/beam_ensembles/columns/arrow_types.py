"""The type language <-> the Arrow types with which rows cross between languages.

``string`` is utf8, ``bytes`` binary, a list or a tensor a flat list (row-major), a map a map, a row a struct, and a
``timestamp`` whole microseconds since the epoch. A list may come in any of Arrow's three plain forms and goes out as
the first of them, with 32-bit offsets. Nothing is compressed or put into dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beam_ensembles.types import NUMPY_DTYPES, Array, Map, Row, Scalar, Type

EVENT_TIME: Final = "__event_time"
"""The column after the fields: each row's event time, whole microseconds since the epoch."""

MICROSECONDS: Final = pa.int64()
"""A point in time as it crosses."""

_SCALARS: Final = {
    "string": pa.string(),
    "bytes": pa.binary(),
    "timestamp": MICROSECONDS,
    **{name: pa.from_numpy_dtype(dtype) for name, dtype in NUMPY_DTYPES.items()},
}


def arrow_type(type_: Type, instant: pa.DataType = MICROSECONDS) -> pa.DataType:
    """Returns the Arrow type of a column's values.

    Args:
        type_: The column's type.
        instant: The Arrow type of a ``timestamp``.

    Raises:
        TypeError: It is none of the type language's own types.
    """
    if isinstance(type_, Scalar):
        return instant if type_.name == "timestamp" else _SCALARS[type_.name]
    if isinstance(type_, Array):
        return pa.list_(arrow_field("item", type_.element, instant))
    if isinstance(type_, Map):
        return pa.map_(arrow_type(type_.key, instant), arrow_field("value", type_.value, instant))
    if isinstance(type_, Row):
        return pa.struct([arrow_field(name, field, instant) for name, field in type_.fields])
    raise TypeError(f"no Arrow type for {type_}")


def arrow_field(name: str, type_: Type, instant: pa.DataType = MICROSECONDS) -> pa.Field:
    """Returns the Arrow field of a column; ``instant`` as for ``arrow_type``."""
    return pa.field(name, arrow_type(type_, instant), nullable=type_.nullable)


def is_layout_of(found: pa.DataType, type_: Type) -> bool:
    """Returns whether an incoming Arrow column is one of the layouts that a type may have."""
    if isinstance(type_, Scalar):
        return bool(found == _SCALARS[type_.name])
    if isinstance(type_, Array):
        return is_list(found) and is_layout_of(found.value_type, type_.element)
    if isinstance(type_, Map):
        if not pa.types.is_map(found):
            return False
        return is_layout_of(found.key_type, type_.key) and is_layout_of(found.item_type, type_.value)
    if not isinstance(type_, Row) or not pa.types.is_struct(found):
        return False
    fields = list(found)
    return [field.name for field in fields] == [name for name, _ in type_.fields] and all(
        is_layout_of(field.type, of) for field, (_, of) in zip(fields, type_.fields, strict=True)
    )


def is_list(found: pa.DataType) -> bool:
    """Returns whether an Arrow type is one of the three plain lists."""
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(kind(found) for kind in kinds)


def taken(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    """Returns some of the rows of a record batch of any types, by their places in order."""
    try:
        return batch.take(pa.array(rows, pa.int64()))
    except pa.ArrowNotImplementedError:  # of views and of what is run-end encoded (pyarrow 25)
        breaks = np.flatnonzero(np.diff(rows) != 1) + 1
        parts = [batch.slice(run[0], len(run)) for run in np.split(rows, breaks) if len(run)]
        return pa.concat_batches(parts or [batch.slice(0, 0)])


def with_plain_lists(found: pa.DataType) -> pa.DataType:
    """Returns a type in which every list is a plain one; the type itself where they all are."""
    if is_list(found):
        return pa.list_(_plain(found.value_field))
    if pa.types.is_map(found):
        return pa.map_(with_plain_lists(found.key_type), _plain(found.item_field))
    if pa.types.is_struct(found):
        return pa.struct([_plain(field) for field in found])
    return found


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(with_plain_lists(field.type))


def in_wire_layout(array: pa.Array) -> pa.Array:
    """Returns an array of a Python pipeline in the layout in which it would cross: no dictionaries, views, large texts.

    Points in time lose what is below a microsecond, and dates are their midnight.
    """
    micros = _changed(array.type, _small)
    array = array if micros == array.type else array.cast(micros, safe=False)
    wire = _changed(array.type, _whole)
    return array if wire == array.type else array.cast(wire)


def beyond_micros(array: pa.Array) -> np.ndarray | None:
    """Returns for each row whether a point in time of it is too far away for microseconds; None where none is."""
    return _rows_with_instants(array, ("D", "s", "ms"), _is_beyond)


def finer_than_micros(array: pa.Array) -> np.ndarray | None:
    """Returns for each row whether a point in time of it has nanoseconds; None where none has."""
    return _rows_with_instants(array, ("ns",), _is_finer)


def _is_beyond(counts: np.ndarray, unit: str) -> np.ndarray:
    most = np.iinfo(np.int64).max // _MICROS_OF[unit]
    beyond: np.ndarray = (counts > most) | (counts < -most)
    return beyond


def _is_finer(counts: np.ndarray, unit: str) -> np.ndarray:
    finer: np.ndarray = counts % 1_000 != 0
    return finer


def _rows_with_instants(
    array: pa.Array, units: Sequence[str], test: Callable[[np.ndarray, str], np.ndarray]
) -> np.ndarray | None:
    """Returns for each row whether a point in time of it, in one of some units, passes a test; None where none does."""
    if not _has_instants_in(array.type, units):
        return None
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if (unit := _unit(array.type)) is not None:
        whole = array.cast(pa.int32()) if unit == "D" else array
        counts = whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        passed = test(counts, unit)
        return passed if passed.any() else None
    if pa.types.is_map(array.type):
        key, item = pa.field("key", array.type.key_type), array.type.item_field
        array = array.cast(pa.list_(pa.struct([key, item])))
    parts = [
        part for child in _children(array) if (part := _rows_with_instants(child, units, test)) is not None
    ]
    if not parts:
        return None
    found: np.ndarray = np.logical_or.reduce(parts)
    if pa.types.is_struct(array.type):
        return found
    parents = pc.list_parent_indices(array).to_numpy(zero_copy_only=False)
    return np.isin(np.arange(len(array)), parents[found])


def _unit(found: pa.DataType) -> str | None:
    """Returns what a point in time or a date is counted in; None for other types."""
    if pa.types.is_date(found):
        return "D" if pa.types.is_date32(found) else "ms"
    return str(found.unit) if pa.types.is_timestamp(found) else None


def _has_instants_in(found: pa.DataType, units: Sequence[str]) -> bool:
    if (unit := _unit(found)) is not None:
        return unit in units
    if pa.types.is_dictionary(found) or is_list(found):
        return _has_instants_in(found.value_type, units)
    if pa.types.is_map(found):
        return _has_instants_in(found.key_type, units) or _has_instants_in(found.item_type, units)
    return pa.types.is_struct(found) and any(_has_instants_in(field.type, units) for field in found)


def _children(array: pa.Array) -> list[pa.Array]:
    """Returns what stands in lists or structs, without what stands where they are null."""
    found = array.flatten()
    return found if pa.types.is_struct(array.type) else [found]


def _changed(found: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Changes the types that hold no others, wherever they stand."""
    if is_list(found):
        field = found.value_field
        inner = field.with_type(_changed(field.type, change))
        if pa.types.is_fixed_size_list(found):
            return pa.list_(inner, found.list_size)
        return pa.large_list(inner) if pa.types.is_large_list(found) else pa.list_(inner)
    if pa.types.is_map(found):
        item = found.item_field
        return pa.map_(_changed(found.key_type, change), item.with_type(_changed(item.type, change)))
    if pa.types.is_struct(found):
        return pa.struct([field.with_type(_changed(field.type, change)) for field in found])
    return change(found)


def _small(found: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(found):
        return _small(found.value_type)
    if pa.types.is_timestamp(found):
        return pa.timestamp("us", tz=found.tz)
    if pa.types.is_date(found):
        return pa.timestamp("us")
    if pa.types.is_fixed_size_binary(found):
        return pa.binary()
    return found if isinstance(found, pa.BaseExtensionType) else _SMALL.get(found, found)


def _whole(found: pa.DataType) -> pa.DataType:
    return MICROSECONDS if pa.types.is_timestamp(found) else found


_MICROS_OF: Final = {"D": 86_400_000_000, "s": 1_000_000, "ms": 1_000}
_SMALL: Final = {
    **dict.fromkeys((pa.large_string(), pa.string_view()), pa.string()),
    **dict.fromkeys((pa.large_binary(), pa.binary_view()), pa.binary()),
}
