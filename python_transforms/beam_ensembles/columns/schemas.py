"""The type language <-> Beam's portable schemas (``schema.proto``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from apache_beam.portability.api import schema_pb2

from beam_ensembles.columns.logical_types import type_of_logical
from beam_ensembles.types import INSTANTS, MICROS_INSTANT, TIMESTAMP, Array, Map, Row, Scalar, Type

_ATOMIC: Final = {
    "string": schema_pb2.STRING,
    "bytes": schema_pb2.BYTES,
    "boolean": schema_pb2.BOOLEAN,
    "int8": schema_pb2.BYTE,
    "int16": schema_pb2.INT16,
    "int32": schema_pb2.INT32,
    "int64": schema_pb2.INT64,
    "float": schema_pb2.FLOAT,
    "double": schema_pb2.DOUBLE,
}
_SCALARS: Final = {atomic: name for name, atomic in _ATOMIC.items()}


def field_type(type_: Type) -> schema_pb2.FieldType:
    """Returns the schema's field type of a type; a tensor is a flat array, row-major.

    Raises:
        ValueError: The type does not cross to other languages (``uint8`` and the like).
    """
    found = _non_null_field_type(type_)
    found.nullable = type_.nullable
    return found


def _non_null_field_type(type_: Type) -> schema_pb2.FieldType:
    if isinstance(type_, Array):
        return schema_pb2.FieldType(array_type=schema_pb2.ArrayType(element_type=field_type(type_.element)))
    if isinstance(type_, Map):
        both = schema_pb2.MapType(key_type=field_type(type_.key), value_type=field_type(type_.value))
        return schema_pb2.FieldType(map_type=both)
    if isinstance(type_, Row):
        return schema_pb2.FieldType(row_type=schema_pb2.RowType(schema=schema_of(type_.fields)))
    if type_ == TIMESTAMP or type_ == TIMESTAMP.optional():
        return _instant()
    if isinstance(type_, Scalar) and type_.name in _ATOMIC:
        return schema_pb2.FieldType(atomic_type=_ATOMIC[type_.name])
    raise ValueError(f"{type_} does not cross to other languages")


def _instant() -> schema_pb2.FieldType:
    int64 = schema_pb2.FieldType(atomic_type=schema_pb2.INT64)
    parts = [schema_pb2.Field(name=name, type=int64) for name in ("seconds", "micros")]
    row = schema_pb2.FieldType(row_type=schema_pb2.RowType(schema=schema_pb2.Schema(fields=parts)))
    return schema_pb2.FieldType(logical_type=schema_pb2.LogicalType(urn=MICROS_INSTANT, representation=row))


def schema_of(fields: Iterable[tuple[str, Type]]) -> schema_pb2.Schema:
    """Returns the schema of named fields, without an id."""
    return schema_pb2.Schema(fields=[schema_pb2.Field(name=name, type=field_type(t)) for name, t in fields])


def type_of(found: schema_pb2.FieldType) -> Type | None:
    """Returns the type of a schema's field, or None where the type language has no word for it."""
    type_ = _non_null_type_of(found)
    return type_.optional() if type_ is not None and found.nullable else type_


def _non_null_type_of(found: schema_pb2.FieldType) -> Type | None:
    info = found.WhichOneof("type_info")
    if info == "atomic_type":
        name = _SCALARS.get(found.atomic_type)
        return Scalar(name) if name else None
    if info in ("array_type", "iterable_type"):
        element = type_of(getattr(found, info).element_type)
        return Array(element) if element else None
    if info == "map_type":
        key, value = type_of(found.map_type.key_type), type_of(found.map_type.value_type)
        return Map(key, value) if key and value else None
    if info == "row_type":
        fields = [(field.name, type_of(field.type)) for field in found.row_type.schema.fields]
        known = tuple((name, type_) for name, type_ in fields if type_)
        return Row(known) if len(known) == len(fields) else None
    return type_of_logical(found.logical_type) if info == "logical_type" else None


def wire_type_of(found: schema_pb2.FieldType) -> Type | None:
    """Returns the type of a field's values as they cross, or None where the type language has no word for it.

    A logical type is its representation then, but for the two that Arrow record batches have as microseconds.
    """
    return type_of(represented(found))


def written_type(writer: bytes) -> Type:
    """Returns the type of the values that ``logical_types.writing`` gives, as they cross."""
    found = wire_type_of(schema_pb2.FieldType.FromString(writer))
    if found is None:
        raise TypeError("no point in time has such a representation")
    return found


def represented(found: schema_pb2.FieldType) -> schema_pb2.FieldType:
    """Returns a field's type with the representations of logical types in their place."""
    info = found.WhichOneof("type_info")
    plain = schema_pb2.FieldType(nullable=found.nullable)
    if info in ("array_type", "iterable_type"):
        plain.array_type.element_type.CopyFrom(represented(getattr(found, info).element_type))
    elif info == "map_type":
        plain.map_type.key_type.CopyFrom(represented(found.map_type.key_type))
        plain.map_type.value_type.CopyFrom(represented(found.map_type.value_type))
    elif info == "row_type":
        for field in found.row_type.schema.fields:
            plain.row_type.schema.fields.add(name=field.name, type=represented(field.type))
    elif info == "logical_type" and found.logical_type.urn not in INSTANTS:
        plain.CopyFrom(represented(found.logical_type.representation))
        plain.nullable = plain.nullable or found.nullable
    else:
        plain.CopyFrom(found)
    return plain


def describe(found: schema_pb2.FieldType) -> str:
    """Names a field's type for a message, also where the type language has no word for it."""
    type_ = type_of(found)
    if type_ is not None:
        return str(type_)
    info = found.WhichOneof("type_info")
    if info == "logical_type":
        return f"the logical type {found.logical_type.urn}"
    return f"{(info or 'unknown type').removesuffix('_type')} of a type that the language lacks"
