"""CSV: comma-separated, quoted with ``"``, UTF-8, the first line names the fields."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Final

import pyarrow as pa

from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem
from beam_ensembles.tables.arrow import array_of, schema_of_texts
from beam_ensembles.tables.cells import cells_of_values, values_of_cells
from beam_ensembles.tables.chunk import Chunk, Fault
from beam_ensembles.tables.file_problems import FILE, refuse_duplicates, refuse_long_names, refuse_utf16
from beam_ensembles.types import Type

_LONGEST_CELL: Final = 64 * 1024 * 1024
"""Characters that a cell may have: an array as JSON is long, and a quote that is never closed is longer."""


class CsvChunk(Chunk):
    """Rows of a CSV file.

    Args:
        columns: The cells of each field, in order.
        inputs: Type of each field that the ensemble reads.
        numbers: Which row of the data each is.
        faults: The rows that could not be read.
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[str]],
        inputs: Mapping[str, Type],
        numbers: Sequence[int],
        faults: Sequence[Fault],
    ) -> None:
        super().__init__(numbers, faults)
        self._columns, self._inputs = columns, inputs
        self._read: dict[str, list[Any]] = {}

    def column(self, field: str) -> list[Any]:
        """Returns the cells of a field, read by its type where the ensemble reads it."""
        if field not in self._inputs:
            return list(self._columns[field])
        if field not in self._read:
            self._read[field] = values_of_cells(self._columns[field], self._inputs[field])
        return self._read[field]

    def rows(self, at: Sequence[int]) -> list[dict[str, Any]]:
        """Returns rows with the values that the ensemble reads, and the text of all other cells."""
        names = tuple(self._columns)
        whole = zip(*(_at(self.column(name), at) for name in names), strict=True)
        return [dict(zip(names, values, strict=True)) for values in whole]

    def cells(self, fields: Sequence[str], at: Sequence[int]) -> list[Sequence[Any]]:
        """Returns the cells as they came."""
        return [_at(self._columns[name], at) for name in fields]

    def arrays(self, schema: pa.Schema, at: Sequence[int]) -> list[pa.Array]:
        """Returns numbers and so on of fields that the ensemble reads, and text of all others."""
        return [
            array_of(_at(self.column(field.name), at), field, self._inputs.get(field.name))
            for field in schema
        ]


def _at(values: Sequence[Any], at: Sequence[int]) -> Sequence[Any]:
    return values if len(at) == len(values) else [values[index] for index in at]


class CsvReader:
    """Reads a CSV file; a line that is not CSV or has too few or too many cells is a fault of its own.

    Args:
        path: The file.
        inputs: Type of each field that the ensemble reads.

    Raises:
        InvalidEnsemble: The file has no header line, or one that names a field twice.
        OSError: The file cannot be read.
    """

    def __init__(self, path: str, inputs: Mapping[str, Type]) -> None:
        self._inputs = inputs
        self._lines: list[str] = []
        self._rows_read = 0
        csv.field_size_limit(_LONGEST_CELL)
        self.total, self.done = os.path.getsize(path), 0
        with open(path, "rb") as start:
            refuse_utf16(start.read(2))
        self._path = path
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            self.fields: Mapping[str, Type | None] = _fields(file)

    @property
    def schema(self) -> pa.Schema:
        """Text, but for the fields that the ensemble reads."""
        return schema_of_texts(tuple(self.fields), self._inputs)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Reads the rows; lines with nothing in them are no rows."""
        with open(self._path, "rb") as file:
            text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
            rows = csv.reader(self._remembered(text), strict=True)
            next(rows)
            self._rows_read = 0
            while (chunk := self._chunk(rows, size)) is not None:
                self.done = file.tell()
                yield chunk

    def _remembered(self, text: Iterable[str]) -> Iterator[str]:
        """Hands lines on and keeps those of the row that is being read, to show them where it is bad."""
        for line in text:
            self._lines.append(line)
            yield line

    def _chunk(self, reader: Iterator[list[str]], size: int) -> CsvChunk | None:
        rows: list[list[str]] = []
        numbers: list[int] = []
        faults: list[Fault] = []
        while len(rows) + len(faults) < size:
            self._lines.clear()
            try:
                row = next(reader)
                reason = self._reason(row)
            except StopIteration:
                break
            except csv.Error as error:
                row, reason = self._lines, f"the line is not CSV: {error}"
            if row:
                self._rows_read += 1
                if reason:
                    faults.append(self._fault(reason))
                else:
                    rows.append(row)
                    numbers.append(self._rows_read)
        if not rows and not faults:
            return None
        columns = zip(*rows, strict=True) if rows else [()] * len(self.fields)
        return CsvChunk(dict(zip(self.fields, columns, strict=True)), self._inputs, numbers, faults)

    def _reason(self, row: list[str]) -> str | None:
        if len(row) != len(self.fields):
            return f"the row has {len(row)} cells, and the header has {len(self.fields)}"
        return None if _is_text("".join(self._lines)) else "the row is not UTF-8"

    def _fault(self, reason: str) -> Fault:
        raw = "".join(self._lines).rstrip("\r\n").encode("utf-8", "surrogateescape")
        return Fault(self._rows_read, raw.decode("utf-8", "backslashreplace"), NodeError("bad_line", reason))


def _is_text(text: str) -> bool:
    """Returns whether text was UTF-8: bytes that were not are surrogates now, which do not encode."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fields(file: IO[str]) -> dict[str, None]:
    try:
        header = next(csv.reader(file, strict=True), [])
    except csv.Error as error:
        raise InvalidEnsemble([Problem(FILE, "bad_file", f"the first line is not CSV: {error}")]) from error
    if not header:
        text = "the file has no header line; its first line must name the fields"
        raise InvalidEnsemble([Problem(FILE, "no_header", text)])
    if not _is_text("".join(header)):
        raise InvalidEnsemble(
            [Problem(FILE, "bad_file", "the header line is not UTF-8; save the file as UTF-8")]
        )
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        text = f"the header {header[0]!r} has no comma; cells are separated by commas, not by ';' or tabs"
        raise InvalidEnsemble([Problem(FILE, "bad_file", text)])
    refuse_duplicates(header)
    refuse_long_names(header)
    return dict.fromkeys(header)


class CsvWriter:
    """Writes a CSV file: lines end with a line feed, nulls are empty cells, arrays and mappings are JSON.

    Args:
        file: Where to.
        fields: Names of the rows' own fields.
        added: Names of the added columns.
    """

    def __init__(self, file: IO[bytes], fields: Sequence[str], added: Sequence[str]) -> None:
        self._fields = fields
        self._text = io.TextIOWrapper(file, "utf-8", newline="", write_through=False)
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow([*fields, *added])

    def write(self, chunk: Chunk, at: Sequence[int], added: Sequence[list[Any]]) -> None:
        """Writes rows; cells that come from a CSV file stay as they are."""
        cells = [*chunk.cells(self._fields, at), *map(cells_of_values, added)]
        self._writer.writerows(zip(*cells, strict=True))

    def close(self) -> None:
        """Writes what is left."""
        self._text.flush()
        self._text.detach()
