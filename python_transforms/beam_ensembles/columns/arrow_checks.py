"""Checks of Arrow data from outside, before anything reads it.

Arrow's readers take offsets, lengths and null counts as they are written. Code that follows a wrong one reads memory
beyond the message: the process ends, or bytes of its heap become part of a row.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from beam_ensembles.columns.arrow_types import is_list

_HEADER: Final = 2
_DICTIONARY_BATCH_DATA: Final = 1
_NODES, _BUFFERS, _COMPRESSION = 1, 2, 3
"""Fields of the tables of Arrow's ``Message.fbs``, by their places: Message.header, DictionaryBatch.data, and
RecordBatch's nodes, buffers and compression."""
_VALUES_PER_BYTE: Final = 8
_LENGTH: Final = struct.Struct("<q")
"""What a compressed buffer starts with: its length without compression, or -1 where it is not compressed."""
_UNPACKED_PER_BYTE: Final = 256
"""LZ4, which the clients use, makes at most 255 bytes of one."""
_SMALL: Final = 64 << 20
_LARGE: Final = 1 << 30
"""A stream may unpack to the first of these, and with LZ4's best ratio to the second."""
_BYTES_OF: Final = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


def check_stream(data: bytes) -> None:
    """Refuses an Arrow IPC stream that is small but would fill memory when it is read.

    Args:
        data: The stream.

    Raises:
        ValueError: A message announces more values, or more bytes once unpacked, than such a stream may hold.
        pa.ArrowInvalid: A message is malformed.
    """
    held = len(data)
    for message in pa.ipc.MessageReader.open_stream(data):
        if message.type != "schema":
            held = _check_message(message, held, len(data))


def _check_message(message: pa.ipc.Message, held: int, size: int) -> int:
    """Checks a message whose metadata pyarrow has verified.

    Args:
        message: A record batch or a dictionary.
        held: Bytes that the stream holds with what the messages before this one unpack to.
        size: Bytes of the stream.

    Returns:
        ``held`` with what this message unpacks to.
    """
    data = memoryview(message.metadata)
    table = _child(data, _indirect(data, 0), _HEADER)
    if message.type == "dictionary" and table is not None:
        table = _child(data, table, _DICTIONARY_BATCH_DATA)
    if table is None:
        raise ValueError("a message has no record batch in it")
    if _child(data, table, _COMPRESSION) is not None:
        held += _unpacked_size(message.body, _structs(data, table, _BUFFERS))
        most = min(max(_SMALL, size * _UNPACKED_PER_BYTE), _LARGE)
        if held - size > most:
            raise ValueError(
                f"its buffers unpack to over {most} bytes, too many for a stream of {size} bytes"
            )
    most_values = int(_structs(data, table, _NODES)[:, 0].max(initial=0))
    if most_values > held * _VALUES_PER_BYTE:
        raise ValueError(f"a column announces {most_values} values in a stream of {size} bytes")
    return held


def _unpacked_size(body: pa.Buffer, buffers: np.ndarray) -> int:
    """Returns how many bytes the buffers of a compressed message announce.

    Args:
        body: Where they are.
        buffers: Offset and length of each in ``body``.

    Raises:
        ValueError: A buffer lies outside of the body, or announces a negative length.
    """
    total = 0
    for offset, length in buffers[buffers[:, 1] != 0].tolist():
        if offset < 0 or length < _LENGTH.size or offset + length > body.size:
            raise ValueError("a compressed buffer lies outside of its message")
        (unpacked,) = _LENGTH.unpack_from(body, offset)
        if unpacked < -1:
            raise ValueError(f"a compressed buffer announces {unpacked} bytes")
        total += length if unpacked == -1 else unpacked
    return total


def _structs(data: memoryview, table: int, field: int) -> np.ndarray:
    """Returns a vector of pairs of 64-bit numbers that a field of a FlatBuffers table refers to."""
    at = _child(data, table, field)
    if at is None:
        return np.empty((0, 2), np.int64)
    (count,) = struct.unpack_from("<I", data, at)
    return np.frombuffer(data, "<i8", 2 * count, at + 4).reshape(-1, 2)


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
