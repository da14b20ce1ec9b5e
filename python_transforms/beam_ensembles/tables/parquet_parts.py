"""How many rows of a Parquet file are read at once: few bytes of a file can stand for gigabytes of values.

A column's dictionary holds a text once that any number of rows name. Such columns are read as dictionaries where their
texts could take much, and are taken in parts of which each is small enough when it is unfolded.
"""

from __future__ import annotations

import itertools
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


def reading_of(groups: Sequence[Sequence[ChunkPages]], most: int) -> tuple[int, int, list[str]]:
    """Returns how to read the row groups: how many rows to hold at once, how many to read, and which columns to fold.

    Args:
        groups: The pages of each row group.
        most: Rows at once, at most.
    """
    rows = _rows_at_once(groups, most)
    folded = _folded_columns(groups, rows)
    if not folded:
        return rows, rows, []
    # Each read copies a dictionary: it takes more rows than are unfolded at once.
    read = _rows_at_once(groups, max([most, *(group[0].rows // _READS for group in groups if group)]))
    return rows, read, sorted(folded | _folded_columns(groups, read))


def _rows_at_once(groups: Sequence[Sequence[ChunkPages]], most: int) -> int:
    """Returns how many rows of any row group are few enough, by how long they are on average and can be at most."""
    fitting = [most]
    for group in groups:
        if group and group[0].rows:
            held = sum(max(one.total, one.listed) for one in group)
            longest = sum(one.largest if one.has_prefixes else one.width for one in group)
            fitting += [_MOST_BYTES * group[0].rows // max(held, 1), _MOST_BYTES // max(longest, 1)]
    return max(1, min(fitting))


def _folded_columns(groups: Sequence[Sequence[ChunkPages]], rows: int) -> set[str]:
    """Returns the columns to read as dictionaries: texts of which so many rows, together, could take too much."""
    found: set[str] = set()
    for group in groups:
        sizes = sorted(
            ((one.values if one.is_repeated else min(rows, one.rows)) * one.dictionary, one.column)
            for one in group
            if one.is_text and one.dictionary
        )
        unfolded = itertools.accumulate(size for size, _ in sizes)
        found.update(column for (_, column), size in zip(sizes, unfolded, strict=True) if size > _MOST_BYTES)
    return found


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
