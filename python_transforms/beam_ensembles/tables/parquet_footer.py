"""What the footer of a Parquet file says of its row groups, read before Arrow reads it.

``pyarrow`` (25) ends the process where its metadata of a row group or a column is asked for and the footer contradicts
itself. So nothing here asks for them. Of a column without its required fields Arrow makes several hundred bytes of
three.
"""

from __future__ import annotations

import dataclasses
import os
import struct
from typing import IO, Final

from beam_ensembles.tables.parquet_thrift import (
    BINARY,
    I32,
    I64,
    STRUCT,
    CompactReader,
    MalformedThrift,
    Shape,
)

_LONGEST: Final = 64 << 20
"""Bytes of a footer: of about 500,000 columns of row groups."""
_TAIL: Final = struct.Struct("<I4s")
_MAGIC: Final = b"PAR1"

_COLUMN_DATA: Final[Shape] = {
    1: I32, 2: [I32], 3: [BINARY], 4: I32, 5: I64, 6: I64, 7: I64, 8: [STRUCT], 9: I64, 10: I64, 11: I64,
    13: [STRUCT], 16: {1: I64, 2: [I64], 3: [I64]}, 17: {2: [I32]},
}  # fmt: skip
_COLUMN: Final[Shape] = {3: _COLUMN_DATA, 8: {2: {1: [BINARY]}}}
_GROUP: Final[Shape] = {1: [_COLUMN], 2: I64, 3: I64, 4: [STRUCT]}
_FOOTER: Final[Shape] = {1: I32, 2: [STRUCT], 3: I64, 4: [_GROUP], 5: [STRUCT], 7: [STRUCT]}
"""``FileMetaData`` of the format's ``parquet.thrift``: its numbers, and all of its lists."""
_REQUIRED: Final = frozenset((1, 2, 3, 4, 5, 6, 7, 9))


class MalformedParquet(ValueError):
    """A file cannot be read, or unpacks to too much; the message is the rest of a sentence."""


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnPlace:
    """Where the pages of one column in one row group are.

    Attributes:
        start: Where the first one begins.
        end: Where the last one ends.
        values: How many values they have, nulls and empty lists included.
        codec: How they are packed.
    """

    start: int
    end: int
    values: int
    codec: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group.

    Attributes:
        rows: Its rows.
        columns: The places of its columns.
    """

    rows: int
    columns: tuple[ColumnPlace, ...]


def row_groups(file: IO[bytes]) -> list[RowGroup]:
    """Reads the footer of a file.

    Args:
        file: The file.

    Raises:
        MalformedParquet: It has no footer, or one that cannot be read or contradicts itself.
        OSError: It cannot be read.
    """
    size = os.fstat(file.fileno()).st_size
    tail = os.pread(file.fileno(), _TAIL.size, max(size - _TAIL.size, 0))
    length, magic = _TAIL.unpack(tail) if len(tail) == _TAIL.size else (0, b"")
    if magic != _MAGIC or length > size - _TAIL.size:
        raise MalformedParquet("it does not end with the footer of a Parquet file")
    if length > _LONGEST:
        raise MalformedParquet(
            f"its footer has {length} bytes; {_LONGEST} are allowed: write it with larger row groups"
        )
    data = os.pread(file.fileno(), length, size - _TAIL.size - length)
    try:
        groups = CompactReader(data).struct(_FOOTER)[4]
        return [RowGroup(group[3], tuple(map(_place, group[1]))) for group in groups]
    except (MalformedThrift, IndexError, KeyError) as error:
        raise MalformedParquet("its footer is malformed") from error


def _place(column: dict[int, dict[int, int]]) -> ColumnPlace:
    data = column.get(3)
    if data is None:
        raise MalformedParquet("a column of it is encrypted")
    if not data.keys() >= _REQUIRED:
        raise MalformedThrift
    start = data[11] if 0 < data.get(11, 0) < data[9] else data[9]
    return ColumnPlace(start, start + data[7], data[5], data[4])
