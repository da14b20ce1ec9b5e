"""Structs of Thrift's compact protocol as lists of fields, to change the footers and page headers of Parquet files."""

from __future__ import annotations

import random
import struct
from typing import Any, Final

Fields = list[list[Any]]
"""A struct: the number, kind and value of each field; a list's value is the kind of its items and the items."""

_EXTREMES: Final = (
    0, 1, -1, 2, 3, 8, 100, 255, 1 << 16, 1 << 20, (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 40, (1 << 63) - 1,
    -(1 << 63),
)  # fmt: skip
_NUMBERS: Final = (4, 5, 6)


def read(data: bytes, at: int = 0) -> tuple[Fields, int]:
    """Returns the struct at a place, and where it ends."""
    found: Fields = []
    field = 0
    while data[at]:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if step:
            field += step
        else:
            field, at = _number(data, at)
        value, at = _value(data, at, kind)
        found.append([field, kind, value])
    return found, at + 1


def written(fields: Fields) -> bytes:
    """Returns the bytes of a struct."""
    found, last = b"", 0
    for field, kind, value in fields:
        step = field - last
        found += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _zigzag(field)
        found += _bytes_of(kind, value)
        last = field
    return found + b"\0"


def footer(data: bytes) -> tuple[bytes, Fields]:
    """Returns what stands before the footer of a Parquet file, and the footer."""
    (length,) = struct.unpack("<I", data[-8:-4])
    return data[: -8 - length], read(data, len(data) - 8 - length)[0]


def with_footer(pages: bytes, fields: Fields) -> bytes:
    """Returns a Parquet file."""
    end = written(fields)
    return pages + end + struct.pack("<I", len(end)) + b"PAR1"


def part(fields: Fields, *path: int) -> Any:
    """Returns the value at the end of a path: numbers of fields, each followed by the place of an item in a list."""
    found: Any = fields
    for step in path:
        if found and isinstance(found[0], list):
            found = next(value for field, _, value in found if field == step)
        else:
            found = found[1][step]
    return found


def mutate(fields: Fields, chance: random.Random) -> None:
    """Changes a field of a struct, or of one within it."""
    places: list[tuple[Fields, int]] = []
    waiting = [fields]
    while waiting:
        one = waiting.pop()
        places += [(one, at) for at in range(len(one))]
        for _, kind, value in one:
            waiting += [value] if kind == 12 else []
            waiting += value[1] if kind == 9 and value[0] == 12 else []
    inside, at = chance.choice(places)
    how = chance.random()
    if how < 0.1:
        del inside[at]
    elif how < 0.2:
        inside[at][0] = chance.randint(1, 17)
    elif how < 0.3:
        inside.append([chance.randint(1, 17), 5, chance.choice(_EXTREMES)])
    else:
        inside[at][2] = _changed(inside[at], chance)


def _changed(field: list[Any], chance: random.Random) -> Any:
    _, kind, value = field
    if kind in _NUMBERS:
        return chance.choice((*_EXTREMES, value + 1, value - 1, value + 8))
    if kind == 8:
        return chance.choice((b"", value[:-1], value + b"\xff", b"a" * 300))
    if kind == 9 and value[1]:
        items = list(value[1])
        at = chance.randrange(len(items))
        items[at:at] = chance.choice(([], [items[at]], [chance.choice(items)] * 3))
        del items[at : at + chance.randint(0, 1)]
        return [value[0] if chance.random() < 0.8 else chance.choice((3, 5, 6, 8)), items]
    return value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        found |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return found, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    found, at = _varint(data, at)
    return (found >> 1) ^ -(found & 1), at


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return None, at
    if kind in _NUMBERS:
        return _number(data, at)
    if kind == 12:
        return read(data, at)
    if kind == 9:
        count, items = data[at] >> 4, data[at] & 15
        at += 1
        if count == 15:
            count, at = _varint(data, at)
        found = []
        for _ in range(count):
            one, at = (data[at], at + 1) if items in (1, 2) else _value(data, at, items)
            found.append(one)
        return [items, found], at
    if kind == 8:
        length, at = _varint(data, at)
    else:
        length = {3: 1, 7: 8}[kind]
    return data[at : at + length], at + length


def _bytes_of(kind: int, value: Any) -> bytes:
    if kind in (1, 2):
        return b""
    if kind in _NUMBERS:
        return _zigzag(value)
    if kind == 12:
        return written(value)
    if kind == 9:
        items, found = value
        count = len(found)
        head = bytes([count << 4 | items]) if count < 15 else bytes([0xF0 | items]) + _unsigned(count)
        return head + b"".join(_item(items, one) for one in found)
    return (_unsigned(len(value)) if kind == 8 else b"") + bytes(value)


def _item(kind: int, value: Any) -> bytes:
    """Returns the bytes of an item of a list, which may be of another kind than the list says."""
    if isinstance(value, int):
        return bytes([value & 255]) if kind in (1, 2) else _zigzag(value)
    if isinstance(value, bytes):
        return _unsigned(len(value)) + value
    return written(value)


def _zigzag(value: int) -> bytes:
    return _unsigned(((value << 1) ^ (value >> 127)) & ((1 << 70) - 1))


def _unsigned(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
