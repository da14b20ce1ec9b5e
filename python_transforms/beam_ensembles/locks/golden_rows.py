"""Golden rows: a sample of rows beside what the ensemble and each of its nodes answer, as one Parquet file."""

from __future__ import annotations

import dataclasses
import io
import random
from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from beam_ensembles.columns.convert import to_values
from beam_ensembles.columns.nulls import values_with_nulls
from beam_ensembles.errors import EnsembleError
from beam_ensembles.locks.answers import Answers, Column
from beam_ensembles.tables.arrow import array_of_values
from beam_ensembles.tables.chunk import Chunk

_SEED: Final = 0


def answer_field(node: str, column: str) -> str:
    """Returns the field of golden rows that has a node's column."""
    return f"{node}.{column}"


@dataclasses.dataclass(slots=True)
class Sample:
    """Rows drawn from a file, in its order.

    Attributes:
        table: Their fields.
        numbers: Which row of the file each was.
        seen: How many rows the file has.
    """

    table: pa.Table
    numbers: tuple[int, ...]
    seen: int


def sample(chunks: Iterable[Chunk], schema: pa.Schema, most: int) -> Sample:
    """Draws rows without keeping the others; the same file gives the same rows.

    Args:
        chunks: The rows.
        schema: Their fields.
        most: How many to draw; all where there are fewer.

    Raises:
        EnsembleError: There are no rows, or one cannot be read.
    """
    kept: dict[int, tuple[int, pa.RecordBatch]] = {}
    chance, seen = random.Random(_SEED), 0  # noqa: S311 - the same sample on every machine
    for chunk in chunks:
        for fault in chunk.faults:
            text = f"row {fault.number:,} cannot be read: [{fault.error.code}] {fault.error.message}"
            raise EnsembleError(f"{text}; golden rows must be rows that the ensemble scores")
        chosen: dict[int, int] = {}
        for at in range(len(chunk)):
            place = seen if seen < most else chance.randrange(seen + 1)
            if place < most:
                chosen[place] = at
            seen += 1
        if chosen:
            at_once = sorted(set(chosen.values()))
            taken = pa.RecordBatch.from_arrays(chunk.arrays(schema, at_once), schema=schema)
            for place, at in chosen.items():
                kept[place] = (chunk.numbers[at], taken.slice(at_once.index(at), 1))
    if not kept:
        raise EnsembleError("the file has no rows; golden rows are what a lock compares")
    drawn = sorted(kept.values(), key=lambda one: one[0])
    table = pa.Table.from_batches([row for _, row in drawn], schema).combine_chunks()
    table = table.replace_schema_metadata(None)  # of pandas, about columns that are not there
    return Sample(table, tuple(number for number, _ in drawn), seen)


def golden_bytes(rows: pa.Table, answers: Answers, makers: Mapping[str, str]) -> bytes:
    """Returns the file of golden rows; equal rows and answers give equal bytes.

    Args:
        rows: The rows' own fields.
        answers: What the nodes answered.
        makers: The node that makes each column that is kept.

    Raises:
        EnsembleError: A field of the rows has the name of an answer's.
    """
    found = rows
    for column, node in makers.items():
        name = answer_field(node, column)
        if name in rows.column_names:
            raise EnsembleError(f"the rows have a field '{name}', which golden rows add; rename it")
        found = found.append_column(name, _array(answers.columns[column]))
    file = io.BytesIO()
    pq.write_table(found, file, compression="zstd", store_schema=True)
    return file.getvalue()


def _array(column: Column) -> pa.Array:
    has_value = column.valid & column.there
    values = values_with_nulls(column.values, has_value, lambda some: to_values(some, column.type))
    return array_of_values(values, column.type)
