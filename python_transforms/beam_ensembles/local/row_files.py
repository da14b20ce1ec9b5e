"""Files of rows that an ensemble scores on this machine: opened, checked as a pipeline's rows are, read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from beam_ensembles.errors import EnsembleError, InvalidEnsemble, InvalidRows
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.local.scoring import check_fields
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.tables.chunk import Chunk, Reader
from beam_ensembles.tables.formats import JSON_LINES, Columns, open_reader

NOT_ADDED: Final = "_answer_that_no_row_gets_"
"""A prefix for outputs that are not added to the rows, which may have fields of their names."""


def open_rows(
    path: str, graph: EnsembleGraph, columns: Columns, *, output: str = JSON_LINES, prefix: str = ""
) -> Reader:
    """Opens a file of rows and checks its fields as a pipeline's are checked.

    Args:
        path: The file.
        graph: The ensemble.
        columns: What of the file the ensemble reads and adds.
        output: The file that the rows will be written to; its suffix says how much must be known of them.
        prefix: Put before the name of every added column.

    Raises:
        InvalidRows: There is something wrong with the file as a whole.
        OSError: It cannot be read.
    """
    try:
        reader = open_reader(path, columns, output)
        check_fields(graph, reader.fields, prefix)
    except InvalidEnsemble as error:
        raise InvalidRows(error.problems, ensemble=graph.spec.name, count=error.count) from error
    return reader


def chunks_of(reader: Reader, path: str, size: int) -> Iterator[Chunk]:
    """Yields a file's rows, ``size`` at a time.

    Raises:
        EnsembleError: The file breaks off.
    """
    try:
        yield from reader.chunks(size)
    except (OSError, pa.ArrowException) as error:
        raise EnsembleError(f"'{path}' cannot be read to its end: {text_of(error)}") from error
