"""The type language <-> Arrow's types, and values <-> Arrow's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beam_ensembles.columns.arrow_types import is_list
from beam_ensembles.columns.convert import to_column, to_values
from beam_ensembles.columns.timestamps import as_micros, truncated, with_instants
from beam_ensembles.errors import EnsembleError
from beam_ensembles.tables.arrow_values import plain_values
from beam_ensembles.tables.json_text import to_json
from beam_ensembles.types import BYTES, NUMPY_DTYPES, TIMESTAMP, Array, Map, Row, Scalar, Type, has_instants

_SCALARS: Final = {
    "string": pa.string(),
    "bytes": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    **{name: pa.from_numpy_dtype(dtype) for name, dtype in NUMPY_DTYPES.items()},
}
_NAMES: Final = {
    **{arrow: name for name, arrow in _SCALARS.items()},
    **dict.fromkeys((pa.large_string(), pa.string_view()), "string"),
    **dict.fromkeys((pa.large_binary(), pa.binary_view()), "bytes"),
}
_JSON_TEXT: Final = {"content": "json"}


def arrow_type(type_: Type) -> pa.DataType:
    """Returns the Arrow type of a column; a tensor is a flat list, row-major."""
    if isinstance(type_, Scalar):
        return _SCALARS[type_.name]
    if isinstance(type_, Array):
        return pa.list_(pa.field("item", arrow_type(type_.element)))
    if isinstance(type_, Map):
        return pa.map_(arrow_type(type_.key), arrow_type(type_.value))
    if isinstance(type_, Row):
        return pa.struct([(name, arrow_type(field)) for name, field in type_.fields])
    raise TypeError(f"no Arrow type for {type_}")


def is_view(found: pa.DataType) -> bool:
    """Whether an Arrow type is a text or bytes that may stand anywhere."""
    return bool(pa.types.is_string_view(found) or pa.types.is_binary_view(found))


def type_of_arrow(found: pa.DataType) -> Type | None:
    """Returns the type of an Arrow column, or None where the type language has no word for it."""
    if pa.types.is_dictionary(found):
        return None if is_view(found.value_type) else type_of_arrow(found.value_type)
    if pa.types.is_timestamp(found) or pa.types.is_date(found):
        return TIMESTAMP
    if pa.types.is_fixed_size_binary(found):
        return BYTES
    if is_list(found):
        element = type_of_arrow(found.value_type)
        return Array(element) if element else None
    if pa.types.is_map(found):
        key, value = type_of_arrow(found.key_type), type_of_arrow(found.item_type)
        return Map(key, value) if key and value else None
    if pa.types.is_struct(found):
        fields = [(field.name, type_of_arrow(field.type)) for field in found]
        known = tuple((name, type_) for name, type_ in fields if type_)
        return Row(known) if len(known) == len(fields) else None
    if isinstance(found, pa.BaseExtensionType):  # one that a program defines may have no hash
        return None
    name = _NAMES.get(found)
    return Scalar(name) if name else None


def json_text_field(name: str) -> pa.Field:
    """Returns the field of a column whose values have no common type: each is written as its JSON."""
    return pa.field(name, pa.string(), metadata=_JSON_TEXT)


def schema_of_texts(fields: Sequence[str], inputs: Mapping[str, Type]) -> pa.Schema:
    """Returns the schema of fields that are all text, but for those that the ensemble reads."""
    return pa.schema([(name, arrow_type(inputs[name]) if name in inputs else pa.string()) for name in fields])


def array_of(values: Sequence[Any], field: pa.Field, declared: Type | None) -> pa.Array:
    """Creates an Arrow array of the values of an untyped file.

    Args:
        values: The values.
        field: The array's field.
        declared: The type that the ensemble declares for it, where it reads it: they hold for that.
    """
    if declared is not None:
        if has_instants(declared):
            values = [truncated(with_instants(value)) for value in values]
        present = [value for value in values if value is not None]
        found = iter(to_values(to_column(present, declared, field.name).values, declared) if present else ())
        return array_of_values([None if value is None else next(found) for value in values], declared)
    if field.metadata is not None and field.metadata.get(b"content") == b"json":
        values = [None if value is None else to_json(value) for value in values]
    return pa.array(values, field.type)


def array_of_values(values: Sequence[Any], type_: Type) -> pa.Array:
    """Creates an Arrow array of values as rows of a pipeline hold them."""
    if has_instants(type_):
        values = [as_micros(value, type_) for value in values]
    return pa.array(values, arrow_type(type_))


def values_of(array: pa.Array) -> list[Any]:
    """Returns the values of an Arrow array as a row holds them; lists of one length come as rows of a numpy matrix.

    Tensors of Arrow's own type come as arrays of their shape. Points in time are Python's own, or Beam's where they
    have nanoseconds.
    """
    if isinstance(array, pa.FixedShapeTensorArray):
        return _tensors(array)
    if array.null_count == 0 and len(array):
        if _is_number(array.type):
            return list(array.to_numpy(zero_copy_only=False).tolist())
        if is_list(array.type) and _is_number(array.type.value_type):
            flat, lengths = array.flatten(), pc.min_max(pc.list_value_length(array)).as_py()
            if flat.null_count == 0 and lengths["min"] == lengths["max"]:
                return list(flat.to_numpy(zero_copy_only=False).reshape(len(array), lengths["min"]))
    return plain_values(array, micros=True)


def _tensors(array: pa.FixedShapeTensorArray) -> list[Any]:
    """Returns each row's tensor as an array, its dimensions in the order that its type's permutation gives.

    Raises:
        EnsembleError: The order could be one of two: pyarrow (25) writes the inverse of the permutation that the
            format describes, and reads neither back.
    """
    shape = array.type.shape
    order = array.type.permutation or list(range(len(shape)))
    if [order[at] for at in order] != list(range(len(shape))):
        text = f"a column of tensors stores its dimensions in the order {order}, which programs read in different ways"
        raise EnsembleError(f"{text}; store them row by row (numpy.ascontiguousarray)")
    rows = [None if row is None else np.array(row).reshape(shape) for row in array.storage.to_pylist()]
    return [None if row is None else row.transpose(order) for row in rows]


def _is_number(found: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return any(kind(found) for kind in kinds)
