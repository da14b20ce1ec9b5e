"""Finds the row of a file that ``explain`` is asked about, without keeping the others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import EnsembleError, nearest
from beam_ensembles.execution.loaded_stage import LoadedStage
from beam_ensembles.local.explaining import explain_row
from beam_ensembles.local.explanation import Explanation
from beam_ensembles.local.frames import Rows
from beam_ensembles.local.row_files import NOT_ADDED, chunks_of, open_rows
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.loading import graph_of_file, with_own_folder
from beam_ensembles.tables.chunk import Chunk, Reader
from beam_ensembles.tables.formats import Columns

_ROWS_AT_ONCE: Final = 1_024


def explained(
    file: str,
    input: str,
    row: int | None,
    where: tuple[str, str] | None,
    *,
    parameters: Mapping[str, str],
    trust: Sequence[str],
) -> tuple[Explanation, int]:
    """Explains one row of a file.

    Args:
        file: The ensemble file.
        input: The file of rows.
        row: The row's number, from 1; or None.
        where: A field and its value as text, of which the first row that has it is taken; or None.
        parameters: Values of ``${name}`` in the ensemble file.
        trust: Folders whose pickles may be loaded unpinned, beside the ensemble file's own.

    Returns:
        The explanation, and how many rows match.

    Raises:
        InvalidEnsemble: The ensemble file or the file of rows is not valid.
        EnsembleError: There is no such row, it cannot be read, or a model cannot be loaded.
        OSError: A file cannot be read.
    """
    graph = graph_of_file(file, parameters=parameters, trust=with_own_folder(file, trust))
    columns = Columns(dict(graph.columns_read), ())
    reader = open_rows(input, graph, columns, prefix=NOT_ADDED)
    if where is not None and where[0] not in reader.fields:
        known = sorted(reader.fields)
        raise EnsembleError(f"'{input}' has no field '{where[0]}'{nearest(where[0], known)}")
    search = _Search(input, reader, tuple(columns.inputs))
    number, found = search.numbered(row) if row is not None else search.first(*(where or ("", "")))
    code = stage_of(graph, columns_of(graph))
    stage = LoadedStage(code, this_machine())
    (chunk,) = Rows([found]).chunks(1)
    return explain_row(graph, code, stage, chunk, f"row {number:,}"), search.matches


class _Search:
    """Looks through a file of rows once.

    Args:
        path: The file.
        reader: Reads it.
        fields: The fields that the ensemble reads.

    Attributes:
        matches: How many rows have matched.
    """

    def __init__(self, path: str, reader: Reader, fields: Sequence[str]) -> None:
        self._path, self._reader, self._fields = path, reader, fields
        self.matches = 0

    def numbered(self, row: int) -> tuple[int, dict[str, Any]]:
        """Returns the row of a number."""
        last = 0
        for chunk in chunks_of(self._reader, self._path, _ROWS_AT_ONCE):
            for fault in chunk.faults:
                if fault.number == row:
                    text = f"row {row:,} of '{self._path}' cannot be read: [{fault.error.code}] {fault.error.message}"
                    raise EnsembleError(text)
            if len(chunk) and chunk.numbers[0] <= row <= chunk.numbers[-1]:
                self.matches = 1
                return row, self._row(chunk, chunk.numbers.index(row))
            last = max(last, *chunk.numbers, *(fault.number for fault in chunk.faults), 0)
        has = "no row" if not last else "1 row" if last == 1 else f"{last:,} rows"
        raise EnsembleError(f"there is no row {row:,}: '{self._path}' has {has}")

    def first(self, field: str, text: str) -> tuple[int, dict[str, Any]]:
        """Returns the first row whose field has a value, and counts the others."""
        found: tuple[int, dict[str, Any]] | None = None
        rows = 0
        for chunk in chunks_of(self._reader, self._path, _ROWS_AT_ONCE):
            rows += len(chunk)
            for at, value in enumerate(chunk.column(field)):
                if _is(value, text):
                    self.matches += 1
                    found = found or (chunk.numbers[at], self._row(chunk, at))
        if found is None:
            raise EnsembleError(f"none of the {rows:,} rows of '{self._path}' has {field}={text}")
        return found

    def _row(self, chunk: Chunk, at: int) -> dict[str, Any]:
        return {name: chunk.column(name)[at] for name in self._fields}


def _is(value: Any, text: str) -> bool:
    """Whether a value is what a person writes as a text: ``17``, ``true``, ``null``, or the text itself."""
    if isinstance(value, str):
        return value == text
    try:
        given = json.loads(text)
    except ValueError:
        return str(value) == text
    is_number = isinstance(value, int | float) and isinstance(given, int | float)
    return bool(value == given) and (
        type(value) is type(given) or (is_number and not isinstance(given, bool))
    )
