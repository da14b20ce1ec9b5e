"""Checks of Arrow data from outside, before anything reads it.

Arrow's readers take offsets, lengths and null counts as they are written. Code that follows a wrong one reads memory
beyond the message: the process ends, or bytes of its heap become part of a row.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
import pyarrow as pa

from beam_ensembles.columns.arrow_types import is_list

_HEADER: Final = 2
_DICTIONARY_BATCH_DATA: Final = 1
_NODES, _COMPRESSION = 1, 3
"""Fields of the tables of Arrow's ``Message.fbs``, by their places: Message.header, DictionaryBatch.data,
RecordBatch.nodes and RecordBatch.compression."""
_VALUES_PER_BYTE: Final = 8
_BYTES_OF: Final = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


def check_message(message: Any, size: int) -> None:
    """Refuses a message that is small but would fill memory when it is read.

    Args:
        message: A message of an Arrow IPC stream, whose metadata pyarrow has verified.
        size: The number of bytes of the whole stream.

    Raises:
        ValueError: The message is compressed, or announces more values than the stream can hold.
    """
    if message.type == "schema":
        return
    data = memoryview(message.metadata)
    table = _child(data, _indirect(data, 0), _HEADER)
    if message.type == "dictionary" and table is not None:
        table = _child(data, table, _DICTIONARY_BATCH_DATA)
    if table is None:
        raise ValueError("a message has no record batch in it")
    if _child(data, table, _COMPRESSION) is not None:
        raise ValueError("its buffers are compressed, and must not be")
    nodes = _child(data, table, _NODES)
    if nodes is None:
        return
    (count,) = struct.unpack_from("<I", data, nodes)
    lengths = np.frombuffer(data, "<i8", 2 * count, nodes + 4)[::2]
    most = int(lengths.max(initial=0))
    if most > size * _VALUES_PER_BYTE:
        raise ValueError(f"a column announces {most} values in a stream of {size} bytes")


def _indirect(data: memoryview, at: int) -> int:
    (offset,) = struct.unpack_from("<I", data, at)
    return at + int(offset)


def _child(data: memoryview, table: int, field: int) -> int | None:
    """Returns where a table or vector starts that a field of a FlatBuffers table refers to; None if it has none."""
    (back,) = struct.unpack_from("<i", data, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", data, vtable)
    slot = 4 + 2 * field
    if slot >= size:
        return None
    (offset,) = struct.unpack_from("<H", data, vtable + slot)
    return _indirect(data, table + offset) if offset else None


def check_batch(batch: pa.RecordBatch) -> None:
    """Checks every offset, length, index and null count of a record batch.

    Texts need not be UTF-8: a row with one that is not is an error of that row alone.

    Raises:
        pa.ArrowInvalid: One of them is wrong.
    """
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:  # a second look, in which texts are bytes
        for array in batch.columns:
            plain = _with_bytes(array.type)
            (array if plain == array.type else array.view(plain)).validate(full=True)
        batch.validate()


def _with_bytes(found: pa.DataType) -> pa.DataType:
    """Returns the type with every text in it replaced by bytes, which Arrow lays out in the same way."""
    if found in _BYTES_OF:
        return _BYTES_OF[found]
    if pa.types.is_fixed_size_list(found):
        return pa.list_(_field_with_bytes(found.value_field), found.list_size)
    if is_list(found):
        of = pa.large_list if pa.types.is_large_list(found) else pa.list_
        return of(_field_with_bytes(found.value_field))
    if pa.types.is_map(found):
        return pa.map_(_with_bytes(found.key_type), _field_with_bytes(found.item_field))
    if pa.types.is_struct(found):
        return pa.struct([_field_with_bytes(field) for field in found])
    if pa.types.is_dictionary(found):
        return pa.dictionary(found.index_type, _with_bytes(found.value_type), found.ordered)
    return found


def _field_with_bytes(field: pa.Field) -> pa.Field:
    return field.with_type(_with_bytes(field.type))
