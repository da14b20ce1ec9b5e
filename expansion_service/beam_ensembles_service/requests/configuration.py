"""The configuration row of a schema transform, as a mapping of plain values.

Rows of a request come from outside, and Beam's compiled coders read past the end of bytes that are cut short.
So this is an own reader for ``beam:coder:row:v1``, which knows no language types and checks every length. It decodes
only options that there are, in types that they may have, so that a row costs little more than its bytes.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from apache_beam.portability.api import external_transforms_pb2, schema_pb2

from beam_ensembles.transforms.config import check_fields
from beam_ensembles_service.requests.sizes import MOST_ITEMS, RequestRefused

_FIXED_SIZE: Final = {
    schema_pb2.BYTE: ">b",
    schema_pb2.INT16: ">h",
    schema_pb2.FLOAT: ">f",
    schema_pb2.DOUBLE: ">d",
    schema_pb2.BOOLEAN: ">?",
}
_INTEGER_BITS: Final = {schema_pb2.INT32: 32, schema_pb2.INT64: 64}
_UNKNOWN_LENGTH: Final = -1


def decode_configuration(payload: external_transforms_pb2.SchemaTransformPayload) -> dict[str, Any]:
    """Decodes the configuration row by the schema that came with it.

    Args:
        payload: Its schema holds atomic types, arrays, maps and rows only (``policy.check_request``).

    Returns:
        The fields that have a value: strings, bytes, numbers, lists, dicts (for maps and for rows).

    Raises:
        RequestRefused: The bytes are no row of that schema, or a list or map has too many entries.
        InvalidEnsemble: A field is not an option of the transform, or has another type.
    """
    return decode_row(payload.configuration_schema, payload.configuration_row, check_fields)


def decode_row(
    schema: schema_pb2.Schema, data: bytes, check: Callable[[Mapping[str, schema_pb2.FieldType]], None]
) -> dict[str, Any]:
    """Decodes a row.

    Args:
        schema: What the row is encoded by.
        data: The row.
        check: Called with the types of the fields that have a value before any value is decoded; raises what is wrong.

    Returns:
        The fields that have a value.

    Raises:
        RequestRefused: The bytes are no row of that schema, or a list or map has too many entries.
    """
    source = _Source(data)
    try:
        fields = _fields_with_values(schema, source)
        check({field.name: field.type for field in fields})
        row = {field.name: _value(field.type, source) for field in fields}
    except (EOFError, ValueError) as exc:
        raise RequestRefused("the configuration row is not encoded as its schema says") from exc
    if not source.at_end():
        raise RequestRefused("the configuration row is longer than its schema says")
    return row


class _Source:
    """Bytes that are read once, from the start, and never past the end."""

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)
        self._size = len(data)

    def take(self, size: int) -> bytes:
        if not 0 <= size <= self._size - self._stream.tell():
            raise EOFError
        return self._stream.read(size)

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a varint has at most ten bytes")

    def fixed(self, layout: str) -> Any:
        (value,) = struct.unpack(layout, self.take(struct.calcsize(layout)))
        return value

    def at_end(self) -> bool:
        return self._stream.tell() == self._size


def _row(schema: schema_pb2.Schema, source: _Source) -> dict[str, Any]:
    return {field.name: _value(field.type, source) for field in _fields_with_values(schema, source)}


def _fields_with_values(schema: schema_pb2.Schema, source: _Source) -> list[schema_pb2.Field]:
    """Reads the number of fields and a bit for each that is null; missing ones are null. The values follow."""
    count = source.varint()
    nulls = source.take(source.varint())
    fields = _in_wire_order(schema)
    if count > len(fields):
        raise ValueError("the row has more fields than its schema")
    return [
        field
        for index, field in enumerate(fields[:count])
        if not (index // 8 < len(nulls) and nulls[index // 8] >> index % 8 & 1)
    ]


def _in_wire_order(schema: schema_pb2.Schema) -> list[schema_pb2.Field]:
    fields = list(schema.fields)
    return (
        sorted(fields, key=lambda field: field.encoding_position) if schema.encoding_positions_set else fields
    )


def _value(type_: schema_pb2.FieldType, source: _Source) -> Any:
    kind = type_.WhichOneof("type_info")
    if kind == "row_type":
        return _row(type_.row_type.schema, source)
    if kind == "map_type":
        size = _counted(source.fixed(">i"))
        return dict(_entry(type_.map_type, source) for _ in range(size))
    if kind in ("array_type", "iterable_type"):
        return _items(getattr(type_, kind).element_type, source)
    return _atom(type_.atomic_type, source)


def _entry(type_: schema_pb2.MapType, source: _Source) -> tuple[Any, Any]:
    key = _item(type_.key_type, source)
    if isinstance(key, list | dict):
        raise ValueError("the keys of a map are atomic")
    return key, _item(type_.value_type, source)


def _items(type_: schema_pb2.FieldType, source: _Source) -> list[Any]:
    size = source.fixed(">i")
    if size != _UNKNOWN_LENGTH:
        return [_item(type_, source) for _ in range(_counted(size))]
    items: list[Any] = []
    while block := source.varint():
        _counted(len(items) + block)
        items.extend(_item(type_, source) for _ in range(block))
    return items


def _counted(size: int) -> int:
    if size > MOST_ITEMS:
        raise RequestRefused(
            f"a list or map of the configuration has {size} entries, at most {MOST_ITEMS} are allowed"
        )
    if size < 0:
        raise ValueError("a length is negative")
    return size


def _item(type_: schema_pb2.FieldType, source: _Source) -> Any:
    """Reads an item of a list or a map: one that may be null is marked by a byte."""
    if type_.nullable and not source.fixed(">?"):
        return None
    return _value(type_, source)


def _atom(atomic: schema_pb2.AtomicType.ValueType, source: _Source) -> Any:
    if atomic in _FIXED_SIZE:
        return source.fixed(_FIXED_SIZE[atomic])
    if atomic in _INTEGER_BITS:
        bits = _INTEGER_BITS[atomic]
        value = source.varint() % (1 << bits)
        return value - (1 << bits) if value >> (bits - 1) else value
    data = source.take(source.varint())
    return data.decode("utf-8") if atomic == schema_pb2.STRING else data
