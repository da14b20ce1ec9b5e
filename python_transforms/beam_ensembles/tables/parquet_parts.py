"""How many rows of a Parquet file are read at once: few bytes of a file can stand for gigabytes of values.

A column's dictionary holds a text once that any number of rows name. Such columns are read as dictionaries where their
texts could take much, and are taken in parts of which each is small enough when it is unfolded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from beam_ensembles.columns.arrow_sizes import has_dictionary, unfolded_sizes
from beam_ensembles.tables.parquet_pages import ChunkPages

_MOST_BYTES: Final = 256 << 20
"""Bytes of values that are held at once, unless one row has more."""
_READS: Final = 16
"""Reads of a row group with folded columns, about."""


def rows_at_once(groups: Sequence[Sequence[ChunkPages]], most: int) -> int:
    """Returns how many rows to read at once, by how long those of each row group are on average.

    Args:
        groups: The pages of each row group.
        most: Rows at once, at most.
    """
    fitting = [
        _MOST_BYTES * group[0].rows // max(sum(max(one.total, one.listed) for one in group), 1)
        for group in groups
        if group and group[0].rows
    ]
    widest = [one.largest if one.has_prefixes else one.width for group in groups for one in group if one.rows]
    fitting += [_MOST_BYTES // max(one, 1) for one in widest]
    return int(max(1, min([most, *fitting])))


def folded_columns(groups: Sequence[Sequence[ChunkPages]], rows: int) -> list[str]:
    """Returns the columns to read as dictionaries: texts of which so many rows could take too much.

    Args:
        groups: The pages of each row group.
        rows: How many rows are read at once.
    """
    found = set()
    for one in (one for group in groups for one in group):
        if one.is_text and one.dictionary:
            texts = one.values if one.is_repeated else min(rows, one.rows)
            if texts * one.dictionary > _MOST_BYTES:
                found.add(one.column)
    return sorted(found)


def size_of_folded(groups: Sequence[Sequence[ChunkPages]], most: int) -> int:
    """Returns how many rows to read at once with folded columns: each read copies a dictionary.

    Args:
        groups: The pages of each row group.
        most: Rows at once, at most, of columns that are not.
    """
    return max([most, *(group[0].rows // _READS for group in groups if group)])


def parts_of(batch: pa.RecordBatch, schema: pa.Schema, most: int) -> Iterator[pa.RecordBatch]:
    """Takes a batch in parts that are small enough, with the types of the file's schema.

    Args:
        batch: Rows, some columns of which may be folded.
        schema: The file's.
        most: Rows of a part, at most.
    """
    for start, length in _spans(_lengths(batch), most):
        part = batch.slice(start, length)
        columns = [_unfolded(column, field.type) for column, field in zip(part.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _unfolded(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if column.type == wanted:
        return column
    return (column.dictionary_decode() if pa.types.is_dictionary(column.type) else column).cast(wanted)


def _lengths(batch: pa.RecordBatch) -> np.ndarray:
    """Returns the bytes of each row's values that are kept in dictionaries."""
    lengths = np.zeros(len(batch), np.int64)
    for column in batch.columns:
        if has_dictionary(column.type):
            lengths += unfolded_sizes(column)
    return lengths


def _spans(lengths: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Yields where parts begin and how many rows they have."""
    ends = np.cumsum(lengths)
    start, before = 0, 0
    while start < len(lengths):
        end = max(start + 1, int(np.searchsorted(ends, before + _MOST_BYTES, "right")))
        end = min(end, start + most)
        yield start, end - start
        start, before = end, int(ends[end - 1])
