"""What the pages of a Parquet file unpack to, by their own headers: its footer may say something else.

Arrow takes the sizes and counts of a page as they are written and allocates memory for the whole page, before it reads
any of it. No option of its reader limits that. So the headers are read first, which lie between the pages.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final

import pyarrow.parquet as pq

from beam_ensembles.tables.parquet_footer import ColumnPlace, MalformedParquet, RowGroup
from beam_ensembles.tables.parquet_prefixes import UnknownPrefixes, length_of_prefixes
from beam_ensembles.tables.parquet_thrift import BOOL, I32, CompactReader, MalformedThrift, Shape

_SMALL: Final = 512 << 20
"""Bytes that a file of any size may unpack to at one time."""
_PAGES_PER_BYTE: Final = 20
"""How many bytes each byte of a larger file may unpack to, in the pages that are held at one time."""
_LISTS_PER_BYTE: Final = 64
"""The same of the lists in a row group, whose values may take a bit each."""
_BYTES_OF_A_VALUE: Final = 8
_LONGEST_HEADER: Final = 16 << 20
"""As Arrow has it."""
_FIRST_READ: Final = 256
_DELTA_BYTE_ARRAY: Final = 7
_DICTIONARY_PAGE: Final = 2
_KIND, _UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 1, 2, 3, 5, 7, 8
"""Fields of ``PageHeader`` in the format's ``parquet.thrift``."""
_COUNT, _ENCODING, _ENCODING_2 = 1, 2, 4
"""Fields of its headers of data pages."""
_HEADER: Final[Shape] = {
    _KIND: I32, _UNPACKED: I32, _PACKED: I32, _DICTIONARY: {_COUNT: I32},
    _DATA: {_COUNT: I32, _ENCODING: I32}, _DATA_2: {_COUNT: I32, _ENCODING_2: I32, 5: I32, 6: I32, 7: BOOL},
}  # fmt: skip
_DATA_PAGE_2: Final = 3
_HEADER_OF_DATA: Final = {0: _DATA, _DATA_PAGE_2: _DATA_2}
"""Which header a page of data has, by its kind; pages of other kinds have no values of rows."""


@dataclasses.dataclass(slots=True)
class ChunkPages:
    """The pages of one column in one row group.

    Attributes:
        column: The column's path.
        rows: Rows of the row group.
        is_text: Whether its values are texts or bytes.
        is_repeated: Whether its values are in lists.
        width: Bytes of a value that is no text.
        dictionary: Bytes of its dictionary once unpacked.
        largest: Bytes of its largest page of data once unpacked.
        total: Bytes of all its pages once unpacked.
        values: How many values they announce.
        has_prefixes: Whether a text may repeat the start of the one before it.
        prefixes: Bytes that the texts of its lists repeat.
    """

    column: str
    rows: int
    is_text: bool
    is_repeated: bool
    width: int
    dictionary: int = 0
    largest: int = 0
    total: int = 0
    values: int = 0
    has_prefixes: bool = False
    prefixes: int = 0

    @property
    def held(self) -> int:
        """Bytes of pages that are held at one time."""
        return self.dictionary + self.largest

    @property
    def listed(self) -> int:
        """Bytes of the values of its lists."""
        return self.values * self.width + self.prefixes if self.is_repeated else 0


def checked_pages(
    file: IO[bytes], groups: Sequence[RowGroup], schema: pq.ParquetSchema
) -> list[list[ChunkPages]]:
    """Returns what the pages of each column of each row group unpack to.

    Args:
        file: The file.
        groups: Its row groups, as its footer has them.
        schema: Its columns.

    Raises:
        MalformedParquet: A header cannot be read, or the pages unpack to more than such a file may hold.
        OSError: The file cannot be read.
    """
    size = os.fstat(file.fileno()).st_size
    found = [list(_chunks(file.fileno(), group, schema, at)) for at, group in enumerate(groups, start=1)]
    for at, group in enumerate(found, start=1):
        most = max(_SMALL, _PAGES_PER_BYTE * size)
        held = sum(one.held for one in group)
        if held > most:
            raise MalformedParquet(
                f"the pages of row group {at} unpack to {held} bytes; {_allowed(most, size)}"
            )
        row = sum(one.width for one in group if one.values)
        if row > most:
            raise MalformedParquet(f"a row of row group {at} takes {row} bytes; {_allowed(most, size)}")
        most = max(_SMALL, _LISTS_PER_BYTE * size)
        listed = sum(one.listed for one in group)
        if listed > most:
            raise MalformedParquet(f"the lists of row group {at} take {listed} bytes; {_allowed(most, size)}")
    return found


def _allowed(most: int, size: int) -> str:
    return f"a file of {size} bytes may have {most} there: write it with smaller pages and row groups"


def _chunks(descriptor: int, group: RowGroup, schema: pq.ParquetSchema, at: int) -> Iterator[ChunkPages]:
    if len(group.columns) != len(schema):
        raise MalformedParquet(f"row group {at} has {len(group.columns)} columns, and the file {len(schema)}")
    for place, chunk in enumerate(group.columns):
        column = schema.column(place)
        found = ChunkPages(
            column.path,
            group.rows,
            column.physical_type == "BYTE_ARRAY",
            column.max_repetition_level > 0,
            max(_BYTES_OF_A_VALUE, column.length),  # that of a fixed_len_byte_array
        )
        for header, start in _headers(descriptor, chunk, column.path):
            _add(found, header)
            if found.is_repeated and _has_prefixes(header):
                found.prefixes += _prefixes(descriptor, chunk, header, start)
        yield found


def _headers(descriptor: int, chunk: ColumnPlace, column: str) -> Iterator[tuple[dict[int, Any], int]]:
    """Yields the headers of a column's pages, and where each ends: as many as Arrow reads.

    Arrow goes by the footer's number of values.
    """
    start, values = chunk.start, 0
    while start < chunk.end and values < chunk.values:
        header, length = _header(descriptor, start, chunk.end)
        packed, count = header.get(_PACKED, -1), _data(header).get(_COUNT, 0)
        if packed < 0 or header.get(_UNPACKED, -1) < 0 or count < 0:
            raise MalformedParquet(f"a page of column '{column}' has no size")
        yield header, start + length
        values += count
        start += length + packed


def _add(found: ChunkPages, header: dict[int, Any]) -> None:
    unpacked, data = header[_UNPACKED], _data(header)
    found.total += unpacked
    if header.get(_KIND) == _DICTIONARY_PAGE:
        found.dictionary = max(found.dictionary, unpacked)
        return
    found.largest = max(found.largest, unpacked)
    found.values += data.get(_COUNT, 0)
    found.has_prefixes |= _has_prefixes(header)


def _has_prefixes(header: dict[int, Any]) -> bool:
    encoding = _ENCODING_2 if header.get(_KIND) == _DATA_PAGE_2 else _ENCODING
    return _data(header).get(encoding) == _DELTA_BYTE_ARRAY


def _prefixes(descriptor: int, chunk: ColumnPlace, header: dict[int, Any], start: int) -> int:
    """Returns how many bytes a page's texts repeat; where that cannot be read, as many as they could."""
    data, unpacked = _data(header), header[_UNPACKED]
    most: int = data.get(_COUNT, 0) * unpacked
    if most <= _SMALL or unpacked > _SMALL:
        return most
    is_second = header.get(_KIND) == _DATA_PAGE_2
    levels = data.get(5, 0) + data.get(6, 0) if is_second else None
    codec = chunk.codec if not is_second or data.get(7, True) else 0
    page = os.pread(descriptor, header[_PACKED], start)
    try:
        return length_of_prefixes(page, unpacked, codec, levels, data.get(_COUNT, 0))
    except UnknownPrefixes:
        return most


def _data(header: dict[int, Any]) -> dict[int, int]:
    """Returns the header of a page of data, which says how many values it has."""
    found: dict[int, int] = header.get(_HEADER_OF_DATA.get(header.get(_KIND, -1), 0), {})
    return found


def _header(descriptor: int, start: int, end: int) -> tuple[dict[int, Any], int]:
    """Returns a header and its length."""
    size = _FIRST_READ
    while True:
        reader = CompactReader(os.pread(descriptor, min(size, end - start), start))
        try:
            return reader.struct(_HEADER), reader.at
        except MalformedThrift as error:
            raise MalformedParquet("the header of a page is malformed") from error
        except IndexError:
            if size >= min(end - start, _LONGEST_HEADER):
                raise MalformedParquet("the header of a page cannot be read") from None
        size *= 16
