"""Reads protocol buffers off the wire without their schema: enough to look into a model without its
framework.

A message is a run of fields: a key (field number and wire type) and a value. Fields that nobody asked for are
skipped by their length, so that weights of gigabytes are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol, TypeAlias

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_LARGEST_KEY: Final = (1 << 32) - 1


Span: TypeAlias = tuple[int, int]
"""Where a message, a text or bytes are: the first byte and the byte after the last."""


class Buffer(Protocol):
    """Bytes that can be indexed and sliced: ``bytes``, or a file mapped to memory."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int, /) -> int: ...


class WireError(ValueError):
    """The bytes are no protocol buffer."""


def fields(data: Buffer, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Walks over the fields of a message.

    Args:
        data: Where the message is.
        start: Its first byte.
        end: The byte after its last.

    Yields:
        The field's number and where its value is: the first and the byte after the last of text, bytes or a
        message; for a number the number itself and -1.

    Raises:
        WireError: The bytes are no message.
    """
    at = start
    while at < end:
        key, at = _varint(data, at, end)
        if key > _LARGEST_KEY:  # other readers would cut it off, and see another field
            raise WireError(f"a field's key of {key} before byte {at}")
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            value, at = _varint(data, at, end)
            yield number, value, -1
            continue
        if wire_type == _BYTES:
            length, at = _varint(data, at, end)
        elif wire_type in (_FIXED64, _FIXED32):
            length = 8 if wire_type == _FIXED64 else 4
        else:
            raise WireError(f"wire type {wire_type} at byte {at}")
        if number == 0 or at + length > end:
            raise WireError(f"a field of {length} bytes at byte {at} of {end}")
        yield number, at, at + length
        at += length


def spans(data: Buffer, span: Span | None, wanted: int) -> Iterator[Span]:
    """Returns where the texts, bytes or messages of a field are; none of a message that is not there."""
    start, end = span or (0, 0)
    return ((at, to) for number, at, to in fields(data, start, end) if number == wanted and to >= 0)


def first_number(data: Buffer, span: Span, wanted: int) -> int:
    """Returns the first number of a field; 0, as protocol buffers mean it, where there is none."""
    return next((value for number, value, end in fields(data, *span) if number == wanted and end < 0), 0)


def packed(data: Buffer, at: int, end: int) -> Iterator[int]:
    """Reads the numbers of a field that holds many without their keys.

    Raises:
        WireError: The last one does not end.
    """
    while at < end:
        value, at = _varint(data, at, end)
        yield value


def _varint(data: Buffer, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError(f"a number that does not end at byte {at}")
