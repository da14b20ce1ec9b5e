"""What all nodes of an ensemble answer for a chunk of rows, run now or read from golden rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch, RowFailure
from beam_ensembles.columns.nulls import blank, field_of_values
from beam_ensembles.errors import BatchFailed, EnsembleError, NodeError, NodeFailed
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode, in_order, read_columns
from beam_ensembles.execution.node_records import NodeRecord, NodeRecorder
from beam_ensembles.graph.kinds import Columns, valid_rows
from beam_ensembles.tables.chunk import Chunk
from beam_ensembles.types import Type


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column of a chunk's rows.

    Attributes:
        type: Its type.
        values: A value per row; of rows without one a blank, ``[N, ...]``.
        valid: Which rows have a value, ``[N]``.
        there: Which rows have got as far as the node, ``[N]``.
    """

    type: Type
    values: np.ndarray
    valid: np.ndarray
    there: np.ndarray

    def take(self, rows: np.ndarray) -> Column:
        """Returns some rows of it."""
        return Column(self.type, self.values[rows], self.valid[rows], self.there[rows])


@dataclasses.dataclass(frozen=True, slots=True)
class Answers:
    """What became of a chunk's rows.

    Attributes:
        columns: The columns of all nodes by name; those of the rows that nodes read as well.
        failures: The rows that the ensemble cannot score.
        hidden: The failures of nodes whose policy lets the row go on.
    """

    columns: Mapping[str, Column]
    failures: tuple[RowFailure, ...] = ()
    hidden: tuple[RowFailure, ...] = ()

    def failed(self, rows: int) -> np.ndarray:
        """Returns which of the chunk's rows cannot be scored, ``[N]``."""
        found = np.zeros(rows, np.bool_)
        found[[one.index for one in self.failures]] = True
        return found


def input_columns(code: StageCode, chunk: Chunk) -> ColumnBatch:
    """Returns the columns of a chunk that an ensemble reads; rows that are not as declared are among its failures."""
    form = code.form
    return read_columns(
        code,
        len(chunk),
        lambda field, type_, truncates: field_of_values(form.values(chunk, field), type_, field, truncates),
    )


def answers_of(code: StageCode, stage: LoadedStage, chunk: Chunk, size: int | None = None) -> Answers:
    """Runs a chunk through an ensemble.

    Args:
        code: What the stage of all nodes does.
        stage: That stage, loaded.
        chunk: The rows.
        size: How many of them at once; None: all.
    """
    given = input_columns(code, chunk)
    columns = {
        name: _spread(type_, given.columns, name, given.rows, len(chunk)) for name, _, type_ in code.inputs
    }
    recorder, failures = NodeRecorder(), list(given.failures)
    for start in range(0, len(given), size or max(1, len(given))):
        places = slice(start, start + (size or len(given)))
        batch = given.take(places, given.rows[places])
        batch.watch = recorder
        failures += _run(stage, batch)
    hidden = [
        RowFailure(int(record.rows[at]), record.name, error)
        for record in recorder.records
        for at, error in record.faults.items()
    ]
    gone = {(one.index, one.node) for one in failures}
    for node in code.nodes:
        columns |= _of_node(recorder.of(node.spec.name), node.outputs, len(chunk))
    stayed = tuple(one for one in hidden if (one.index, one.node) not in gone)
    return Answers(columns, in_order(failures), in_order(stayed))


def _run(stage: LoadedStage, batch: ColumnBatch) -> Sequence[RowFailure]:
    """Runs a batch and returns its failures: of a node that fails the whole run, those of all its rows."""
    rows = batch.rows
    try:
        stage.run(batch)
    except NodeFailed as error:
        return [RowFailure(int(row), error.node, error) for row in rows]
    except BatchFailed as error:
        return [RowFailure(int(row), "", error) for row in rows]
    return batch.failures


def _of_node(records: Sequence[NodeRecord], outputs: Mapping[str, Type], rows: int) -> dict[str, Column]:
    found = {}
    for name, type_ in outputs.items():
        parts = [record for record in records if name in record.made and len(record.left)]
        values: np.ndarray | None = None
        valid, there = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        for record in parts:
            made = record.made[name]
            if values is None:
                values = np.full(rows, None) if made.dtype == object else _zeros(rows, made)
            values[record.left] = made
            there[record.left] = True
            valid[record.left] = valid_rows(record.made, name)
        found[name] = Column(type_, blank(rows, type_) if values is None else values, valid, there)
    return found


def _zeros(rows: int, like: np.ndarray) -> np.ndarray:
    return np.zeros((rows, *like.shape[1:]), like.dtype)


def _spread(type_: Type, columns: Columns, name: str, places: np.ndarray, rows: int) -> Column:
    """Returns a column of some of the rows as one of all of them."""
    given = columns[name]
    values = np.full(rows, None, dtype=object) if given.dtype == object else _zeros(rows, given)
    valid, there = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    values[places], there[places] = given, True
    valid[places] = valid_rows(columns, name)
    return Column(type_, values, valid, there)


def field_column(chunk: Chunk, field: str, type_: Type) -> Column:
    """Returns a field of a chunk as a column, such as a recorded answer.

    Raises:
        EnsembleError: There is no such field, or a value is not of the type.
    """
    try:
        given = chunk.column(field)
    except KeyError:
        raise EnsembleError(f"the rows have no field '{field}', which the lock names; lock again") from None
    converted, valid = field_of_values(given, type_.optional(), field)
    if converted.faults:
        at, error = next(iter(converted.faults.items()))
        raise EnsembleError(_fault(chunk, at, field, error))
    rows = len(chunk)
    everywhere = np.ones(rows, np.bool_)
    return Column(type_, converted.values, everywhere if valid is None else valid, everywhere)


def _fault(chunk: Chunk, at: int, field: str, error: NodeError) -> str:
    return f"row {chunk.numbers[at]:,}: the field '{field}' cannot be compared: {error.message}"


def recorded_answers(chunk: Chunk, fields: Mapping[str, tuple[str, Type]]) -> Answers:
    """Returns answers that stand in fields of the rows themselves.

    Args:
        chunk: The rows.
        fields: The field and type of each answered column.

    Raises:
        EnsembleError: There is no such field, or a value is not of the type.
    """
    return Answers({name: field_column(chunk, field, type_) for name, (field, type_) in fields.items()})
