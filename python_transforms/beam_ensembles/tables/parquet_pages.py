"""What the pages of a Parquet file unpack to, by their own headers: its footer may say something else.

Arrow takes the sizes and counts of a page as they are written and allocates memory for the whole page, before it reads
any of it. No option of its reader limits that. So the headers are read first, which lie between the pages.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import pyarrow.parquet as pq

from beam_ensembles.files.local_files import open_regular

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
_DEEPEST: Final = 8
_DELTA_BYTE_ARRAY: Final = 7
_DICTIONARY_PAGE: Final = 2
_KIND, _UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 1, 2, 3, 5, 7, 8
"""Fields of ``PageHeader`` in the format's ``parquet.thrift``."""
_COUNT, _ENCODING, _ENCODING_2 = 1, 2, 4
"""Fields of its headers of data pages."""

_Struct: TypeAlias = "dict[int, int | _Struct]"


class MalformedPages(ValueError):
    """The pages of a file cannot be read, or unpack to too much; the message is the rest of a sentence."""


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

    @property
    def held(self) -> int:
        """Bytes of pages that are held at one time."""
        return self.dictionary + self.largest

    @property
    def listed(self) -> int:
        """Bytes of the values of its lists."""
        return self.values * self.width if self.is_repeated else 0


def checked_pages(path: str, metadata: pq.FileMetaData) -> list[list[ChunkPages]]:
    """Returns what the pages of each column of each row group unpack to.

    Args:
        path: The file.
        metadata: Its footer.

    Raises:
        MalformedPages: A header cannot be read, or the pages unpack to more than such a file may hold.
        OSError: The file cannot be read.
    """
    size = os.path.getsize(path)
    with open_regular(path) as file:
        groups = [list(_chunks(file.fileno(), metadata, at)) for at in range(metadata.num_row_groups)]
    for at, group in enumerate(groups, start=1):
        held, listed = sum(one.held for one in group), sum(one.listed for one in group)
        most = max(_SMALL, _PAGES_PER_BYTE * size)
        if held > most:
            raise MalformedPages(
                f"the pages of row group {at} unpack to {held} bytes; {_allowed(most, size)}"
            )
        most = max(_SMALL, _LISTS_PER_BYTE * size)
        if listed > most:
            raise MalformedPages(f"the lists of row group {at} take {listed} bytes; {_allowed(most, size)}")
    return groups


def _allowed(most: int, size: int) -> str:
    return f"a file of {size} bytes may have {most} there: write it with smaller pages and row groups"


def _chunks(descriptor: int, metadata: pq.FileMetaData, at: int) -> Iterator[ChunkPages]:
    group = metadata.row_group(at)
    for place in range(group.num_columns):
        chunk, column = group.column(place), metadata.schema.column(place)
        found = ChunkPages(
            chunk.path_in_schema,
            group.num_rows,
            chunk.physical_type == "BYTE_ARRAY",
            column.max_repetition_level > 0,
            max(_BYTES_OF_A_VALUE, column.length),  # that of a fixed_len_byte_array
        )
        for header in _headers(descriptor, chunk):
            _add(found, header)
        yield found


def _headers(descriptor: int, chunk: Any) -> Iterator[_Struct]:
    """Yields the headers of a column's pages: as many as Arrow reads, which goes by the footer's number of values."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    end, values = start + chunk.total_compressed_size, 0
    while start < end and values < chunk.num_values:
        header, length = _header(descriptor, start, end)
        packed = header.get(_PACKED)
        if not isinstance(packed, int) or packed < 0 or _number(header, _UNPACKED) < 0:
            raise MalformedPages(f"a page of column '{chunk.path_in_schema}' has no size")
        yield header
        values += _number(_data(header), _COUNT)
        start += length + packed


def _add(found: ChunkPages, header: _Struct) -> None:
    unpacked, data = _number(header, _UNPACKED), _data(header)
    found.total += unpacked
    if header.get(_KIND) == _DICTIONARY_PAGE:
        found.dictionary = max(found.dictionary, unpacked)
        return
    found.largest = max(found.largest, unpacked)
    found.values += max(0, _number(data, _COUNT))
    encoding = _ENCODING_2 if _DATA_2 in header else _ENCODING
    found.has_prefixes |= data.get(encoding) == _DELTA_BYTE_ARRAY


def _data(header: _Struct) -> Mapping[int, int | _Struct]:
    found = header.get(_DATA, header.get(_DATA_2, {}))
    return found if isinstance(found, dict) else {}


def _number(struct: Mapping[int, int | _Struct], field: int) -> int:
    found = struct.get(field, 0)
    return found if isinstance(found, int) else 0


def _header(descriptor: int, start: int, end: int) -> tuple[_Struct, int]:
    """Returns a header and its length."""
    size = _FIRST_READ
    while True:
        data = os.pread(descriptor, min(size, end - start), start)
        try:
            return _Compact(data).struct()
        except IndexError:
            if size >= min(end - start, _LONGEST_HEADER):
                raise MalformedPages("the header of a page cannot be read") from None
        size *= 16


class _Compact:
    """Reads a struct of Thrift's compact protocol; keeps its numbers and structs.

    Args:
        data: What begins with it; an ``IndexError`` says that it is longer.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int = 0) -> tuple[_Struct, int]:
        """Returns its fields by their numbers, and where it ends."""
        if depth > _DEEPEST:
            raise MalformedPages("the header of a page is nested too deeply")
        found: _Struct = {}
        field = 0
        while (head := self._byte()) != 0:
            kind, step = head & 15, head >> 4
            field = field + step if step else _signed(self._varint())
            value = self._value(kind, depth)
            if value is not None:
                found[field] = value
        return found, self._at

    def _value(self, kind: int, depth: int) -> int | _Struct | None:
        if kind in (1, 2):  # a boolean is its kind
            return None
        if kind in (4, 5, 6):
            return _signed(self._varint())
        if kind == 12:
            return self.struct(depth + 1)[0]
        if kind in (3, 7):
            self._skip(1 if kind == 3 else 8)
        elif kind == 8:
            self._skip(self._varint())
        elif kind in (9, 10):
            head = self._byte()
            self._skip_items(self._varint() if head >> 4 == 15 else head >> 4, (head & 15,), depth)
        elif kind == 11:
            count = self._varint()
            kinds = self._byte() if count else 0
            self._skip_items(count, (kinds >> 4, kinds & 15), depth)
        else:
            raise MalformedPages("the header of a page is malformed")
        return None

    def _skip_items(self, count: int, kinds: tuple[int, ...], depth: int) -> None:
        if depth > _DEEPEST:
            raise MalformedPages("the header of a page is nested too deeply")
        for _ in range(count):
            for kind in kinds:
                if kind in (1, 2):  # in a list it takes a byte
                    self._skip(1)
                else:
                    self._value(kind, depth + 1)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        found = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise MalformedPages("the header of a page is malformed")

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > len(self._data):
            raise IndexError


def _signed(value: int) -> int:
    """Returns a number that is written in zigzag."""
    return (value >> 1) ^ -(value & 1)
