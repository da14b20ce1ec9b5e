"""The type language <-> the types in which polars holds columns.

Tensors are lists there, since SQL counts into lists only; points in time are microseconds since the epoch, in UTC and
without a zone. What polars gives is widened to types that every language has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from beam_ensembles.types import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    Array,
    Map,
    Row,
    Scalar,
    Type,
)

if TYPE_CHECKING:
    import polars as pl

_DTYPES: Final = {
    "string": "String", "bytes": "Binary", "boolean": "Boolean", "float16": "Float32", "float": "Float32",
    "double": "Float64", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64", "uint8": "UInt8",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip

_GIVEN: Final = {
    "String": STRING, "Binary": BYTES, "Boolean": BOOLEAN, "Float16": FLOAT, "Float32": FLOAT, "Float64": DOUBLE,
    "Int8": INT32, "Int16": INT32, "Int32": INT32, "Int64": INT64, "Int128": INT64, "UInt8": INT32,
    "UInt16": INT32, "UInt32": INT64, "UInt64": INT64, "UInt128": INT64, "Decimal": DOUBLE, "Datetime": TIMESTAMP,
}  # fmt: skip
"""The type of a column that an expression gives, by the name of polars' own."""


def polars_type(type_: Type, instant: pl.DataType | None = None) -> pl.DataType:
    """Returns polars' type of a column.

    Args:
        type_: The column's type.
        instant: The type for a ``timestamp``; microseconds since the epoch as a point in time.

    Raises:
        TypeError: It has none; the message says what of the type it is.
    """
    import polars as pl

    if isinstance(type_, Scalar):
        if type_.name == "timestamp":
            return pl.Datetime("us") if instant is None else instant
        found: type[pl.DataType] = getattr(pl, _DTYPES[type_.name])
        return found()
    if isinstance(type_, Array):
        inner = polars_type(type_.element, instant)
        for _ in type_.shape or (0,):
            inner = pl.List(inner)
        return inner
    if isinstance(type_, Row):
        return pl.Struct({name: polars_type(field, instant) for name, field in type_.fields})
    raise TypeError(f"{type_}")


def type_of(dtype: pl.DataType) -> Type | None:
    """Returns the type of what an expression gives, or None where the type language has none."""
    import polars as pl

    if isinstance(dtype, pl.List | pl.Array):
        element = type_of(dtype.inner)  # type: ignore[arg-type]
        return None if element is None else Array(element)
    return _GIVEN.get(type(dtype).__name__)


def has_map(type_: Type) -> bool:
    """Returns whether a type is a map or holds one."""
    return isinstance(type_, Map) or any(has_map(part) for part in _parts(type_))


def has_null_items(type_: Type) -> bool:
    """Returns whether an item of a list of the type may be null."""
    return any(part.nullable or has_null_items(part) for part in _parts(type_))


def _parts(type_: Type) -> Iterator[Type]:
    if isinstance(type_, Array):
        yield type_.element
    elif isinstance(type_, Row):
        yield from (field for _, field in type_.fields)
