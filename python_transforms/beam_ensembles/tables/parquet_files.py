"""Parquet: columns with types; fields that the ensemble does not read go through as Arrow's own arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beam_ensembles.columns.arrow_types import taken
from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.local_files import open_regular
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.tables.arrow import array_of_values, arrow_type, type_of_arrow, values_of
from beam_ensembles.tables.arrow_values import plain_values
from beam_ensembles.tables.cells import cells_of_values
from beam_ensembles.tables.chunk import Chunk, Fault
from beam_ensembles.tables.file_problems import FILE, refuse_duplicates, refuse_long_names
from beam_ensembles.tables.parquet_faults import faults_of
from beam_ensembles.tables.parquet_footer import MalformedParquet, row_groups
from beam_ensembles.tables.parquet_pages import checked_pages
from beam_ensembles.tables.parquet_parts import parts_of, reading_of
from beam_ensembles.types import Type

_GROUP_ROWS: Final = 65_536
_GROUP_BYTES: Final = 64 * 1024 * 1024


class ParquetChunk(Chunk):
    """Rows of a Parquet file.

    Args:
        batch: The rows.
        numbers: Which row of the data each is.
        faults: The rows in between that could not be read.
    """

    def __init__(self, batch: pa.RecordBatch, numbers: Sequence[int], faults: Sequence[Fault]) -> None:
        super().__init__(numbers, faults)
        self._batch = batch

    def column(self, field: str) -> list[Any]:
        """Returns a field of all rows."""
        return values_of(self._batch.column(field))

    def rows(self, at: Sequence[int]) -> list[dict[str, Any]]:
        """Returns rows with Python's own values."""
        names = self._batch.schema.names
        whole = zip(*map(plain_values, self._taken(at).columns), strict=True)
        return [dict(zip(names, values, strict=True)) for values in whole]

    def cells(self, fields: Sequence[str], at: Sequence[int]) -> list[Sequence[Any]]:
        """Returns the fields' values as cells."""
        rows = self._taken(at)
        return [cells_of_values(plain_values(rows.column(name))) for name in fields]

    def arrays(self, schema: pa.Schema, at: Sequence[int]) -> list[pa.Array]:
        """Returns the arrays as they came."""
        return list(self._taken(at).columns)

    def _taken(self, at: Sequence[int]) -> pa.RecordBatch:
        return self._batch if len(at) == len(self) else taken(self._batch, np.array(at, np.int64))


def chunk_of(batch: pa.RecordBatch, first: int) -> ParquetChunk:
    """Returns the rows of a batch, without those that cannot be read.

    Args:
        batch: The rows.
        first: Which row of the data the first one is.
    """
    faults = faults_of(batch, first)
    numbers: Sequence[int] = range(first, first + len(batch))
    if faults:
        bad = {fault.number for fault in faults}
        numbers = [number for number in numbers if number not in bad]
        batch = taken(batch, np.array(numbers, np.int64) - first)
    return ParquetChunk(batch, numbers, faults)


class ParquetReader:
    """Reads a Parquet file.

    Args:
        path: The file.

    Raises:
        InvalidEnsemble: The file is not Parquet, or names a field twice.
        OSError: The file cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            with open_regular(path) as raw:
                groups = row_groups(raw)
                with pq.ParquetFile(path) as file:
                    self.schema: pa.Schema = file.schema_arrow
                    self._pages = checked_pages(raw, groups, file.schema)
                    self.total: int = file.metadata.num_rows
        except MalformedParquet as error:
            raise InvalidEnsemble([Problem(FILE, "bad_file", f"the file cannot be read: {error}")]) from error
        except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # it cannot be read; others are Arrow's own, of what the file holds
            text = f"the file is not a Parquet file: {text_of(error)}"
            raise InvalidEnsemble([Problem(FILE, "bad_file", text)]) from error
        refuse_duplicates(self.schema.names)
        refuse_long_names(self.schema.names)
        for field in self.schema:
            _refuse_duplicates_in(field.type, field.name)
        self.fields: Mapping[str, Type | None] = {
            field.name: type_of_arrow(field.type) for field in self.schema
        }
        self.done = 0

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Reads the rows."""
        self.done = 0
        rows, at_once, folded = reading_of(self._pages, size)
        with pq.ParquetFile(self._path, read_dictionary=folded) as file:
            for batch in file.iter_batches(batch_size=at_once):
                for part in parts_of(batch, self.schema, rows):
                    chunk = chunk_of(part, self.done + 1)
                    self.done += len(part)
                    yield chunk


def _refuse_duplicates_in(found: pa.DataType, place: str) -> None:
    """Refuses nested rows with two fields of one name: no row of JSON and none of Python has such."""
    if pa.types.is_struct(found):
        refuse_duplicates(found.names, f"the rows in '{place}'")
    for at in range(found.num_fields):
        _refuse_duplicates_in(found.field(at).type, place)


class ParquetWriter:
    """Writes a Parquet file, in row groups much larger than the chunks.

    Args:
        file: Where to.
        schema: The rows' own fields.
        added: Names and types of the added columns.
    """

    def __init__(self, file: IO[bytes], schema: pa.Schema, added: Sequence[tuple[str, Type]]) -> None:
        self._own, self._types = schema, [type_ for _, type_ in added]
        fields = [pa.field(name, arrow_type(type_)) for name, type_ in added]
        self._schema = pa.schema([*schema, *fields], metadata=schema.metadata)
        self._writer = pq.ParquetWriter(file, self._schema)
        self._waiting: list[pa.RecordBatch] = []

    def write(self, chunk: Chunk, at: Sequence[int], added: Sequence[list[Any]]) -> None:
        """Writes rows, once there are enough for a row group."""
        answers = [array_of_values(values, type_) for values, type_ in zip(added, self._types, strict=True)]
        arrays = [*chunk.arrays(self._own, at), *answers]
        self._waiting.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        if (
            sum(map(len, self._waiting)) >= _GROUP_ROWS
            or sum(b.nbytes for b in self._waiting) >= _GROUP_BYTES
        ):
            self._flush()

    def close(self) -> None:
        """Writes what is left, and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
            self._waiting = []
