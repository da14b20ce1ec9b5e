"""The formats of files of rows, by suffix."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import IO, Final

from beam_ensembles.tables.chunk import ChunkRows, Reader, Writer
from beam_ensembles.tables.csv_files import CsvReader, CsvWriter
from beam_ensembles.tables.json_lines import JsonReader, JsonWriter
from beam_ensembles.tables.parquet_files import ParquetReader, ParquetWriter
from beam_ensembles.types import Type

CSV: Final = ".csv"
JSON_LINES: Final = ".jsonl"
PARQUET: Final = ".parquet"


@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    """What of a table the ensemble has to do with.

    Attributes:
        inputs: Type of each field that it reads.
        added: Names and types of the columns that it adds.
    """

    inputs: Mapping[str, Type]
    added: tuple[tuple[str, Type], ...]

    @property
    def added_names(self) -> tuple[str, ...]:
        """Names of the added columns."""
        return tuple(name for name, _ in self.added)


def suffix_of(path: str) -> str:
    """Returns the suffix of a file's name, in small letters."""
    return os.path.splitext(path)[1].lower()


def open_reader(path: str, columns: Columns, output: str) -> Reader:
    """Opens a file of rows.

    Args:
        path: The file; its suffix says its format.
        columns: What the ensemble reads and adds.
        output: The file that the rows will be written to.

    Raises:
        InvalidEnsemble: There is something wrong with the file as a whole.
        OSError: The file cannot be read.
    """
    suffix = suffix_of(path)
    if suffix == CSV:
        return CsvReader(path, columns.inputs)
    if suffix == JSON_LINES:
        target = suffix_of(output)
        return JsonReader(
            path, columns.inputs, columns.added_names, whole=target != JSON_LINES, typed=target == PARQUET
        )
    return ParquetReader(path)


def open_writer(path: str, file: IO[bytes], reader: Reader, columns: Columns) -> Writer:
    """Creates the writer of an output.

    Args:
        path: The output's name; its suffix says its format.
        file: Where its bytes go.
        reader: Where its rows come from.
        columns: What the ensemble adds.
    """
    suffix = suffix_of(path)
    if suffix == CSV:
        return CsvWriter(file, tuple(reader.fields), columns.added_names)
    if suffix == JSON_LINES:
        return JsonWriter(file, ChunkRows(columns.added_names))
    return ParquetWriter(file, reader.schema, columns.added)
