"""How many rows of a Parquet file are read at once: few bytes of a file can stand for gigabytes of values.

A column's dictionary holds a text once that any number of rows name. Such columns are read as dictionaries where their
texts could take much, and are taken in parts of which each is small enough when it is unfolded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_MOST_BYTES: Final = 256 << 20
"""Bytes of values that are held at once, unless one row has more."""
_TEXTS: Final = "BYTE_ARRAY"
_READS: Final = 16
"""Reads of a row group with folded columns, about."""


def rows_at_once(metadata: pq.FileMetaData, most: int) -> int:
    """Returns how many rows to read at once, by how long those of each row group are on average.

    Args:
        metadata: The file's.
        most: Rows at once, at most.
    """
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    fitting = (
        _MOST_BYTES * group.num_rows // max(group.total_byte_size, 1) for group in groups if group.num_rows
    )
    return int(max(1, min([most, *fitting])))


def folded_columns(metadata: pq.FileMetaData, rows: int) -> list[str]:
    """Returns the columns to read as dictionaries: texts of which so many rows could take too much.

    Args:
        metadata: The file's.
        rows: How many rows are read at once.
    """
    found = set()
    for group in (metadata.row_group(at) for at in range(metadata.num_row_groups)):
        for chunk in (group.column(at) for at in range(group.num_columns)):
            is_text = chunk.physical_type == _TEXTS and chunk.has_dictionary_page
            if is_text and min(rows, group.num_rows) * chunk.total_uncompressed_size > _MOST_BYTES:
                found.add(chunk.path_in_schema)
    return sorted(found)


def size_of_folded(metadata: pq.FileMetaData, most: int) -> int:
    """Returns how many rows to read at once with folded columns: each read copies a dictionary.

    Args:
        metadata: The file's.
        most: Rows at once, at most, of columns that are not.
    """
    groups = [int(metadata.row_group(at).num_rows) for at in range(metadata.num_row_groups)]
    return max([most, *(rows // _READS for rows in groups)])


def parts_of(batch: pa.RecordBatch, schema: pa.Schema, most: int) -> Iterator[pa.RecordBatch]:
    """Takes a batch in parts that are small enough, with the types of the file's schema.

    Args:
        batch: Rows, some columns of which may be folded.
        schema: The file's.
        most: Rows of a part, at most.
    """
    for start, length in _spans(_lengths(batch), most):
        part = batch.slice(start, length)
        columns = [
            column if column.type == field.type else column.dictionary_decode().cast(field.type)
            for column, field in zip(part.columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _lengths(batch: pa.RecordBatch) -> np.ndarray:
    """Returns the bytes of each row's values that are kept in dictionaries."""
    lengths = np.zeros(len(batch), np.int64)
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            lengths += _lengths_of(column).fill_null(0).to_numpy()
    return lengths


def _lengths_of(column: pa.DictionaryArray) -> pa.Array:
    """Returns how long each row's text is, from the offsets of those alone that the rows name."""
    texts, at = column.dictionary, column.indices
    if not len(texts):
        return pa.nulls(len(at), pa.int64())
    is_large = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
    offsets = pa.Array.from_buffers(
        pa.int64() if is_large else pa.int32(),
        len(texts) + 1,
        [None, texts.buffers()[1]],
        offset=texts.offset,
    )
    return pc.subtract(offsets.slice(1).take(at), offsets.take(at))


def _is_text(found: pa.DataType) -> bool:
    return any(
        is_it(found)
        for is_it in (
            pa.types.is_string,
            pa.types.is_binary,
            pa.types.is_large_string,
            pa.types.is_large_binary,
        )
    )


def _spans(lengths: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Yields where parts begin and how many rows they have."""
    ends = np.cumsum(lengths)
    start, before = 0, 0
    while start < len(lengths):
        end = max(start + 1, int(np.searchsorted(ends, before + _MOST_BYTES, "right")))
        end = min(end, start + most)
        yield start, end - start
        start, before = end, int(ends[end - 1])
