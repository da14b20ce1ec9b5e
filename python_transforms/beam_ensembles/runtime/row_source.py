"""Batches of rows that came one by one: rows to columns at the start of an ensemble, columns to rows at its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch, RowBatch, RowFailure, Watch
from beam_ensembles.columns.convert import to_values
from beam_ensembles.columns.nulls import field_of_values, values_with_nulls
from beam_ensembles.execution.growing_stage import Stage
from beam_ensembles.execution.loaded_stage import StageCode, in_order, read_columns
from beam_ensembles.execution.written_outputs import written_outputs
from beam_ensembles.graph.kinds import validity
from beam_ensembles.types import Type


@dataclasses.dataclass(frozen=True, slots=True)
class BatchResult:
    """The outputs of one batch.

    Attributes:
        ok: Elements of the main output.
        micros: Event time of each; None where all have that of the batch.
        failed: The failures, each with its element of the error output.
        failed_micros: Likewise their event times.
        windows: The windows of all of them.
    """

    ok: Sequence[Any]
    micros: Sequence[int] | None
    failed: tuple[tuple[RowFailure, Any], ...]
    failed_micros: Sequence[int] | None
    windows: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.ok) + len(self.failed)


@dataclasses.dataclass(frozen=True, slots=True)
class ScoredColumns:
    """What became of rows.

    Attributes:
        rows: Index of each row that was scored.
        added: Values of each output column, one a scored row.
        failures: The other rows, in order.
    """

    rows: np.ndarray
    added: tuple[list[Any], ...]
    failures: tuple[RowFailure, ...]


def score(
    code: StageCode, model: Stage, elements: Sequence[Any], watch: Watch | None = None
) -> ScoredColumns:
    """Scores elements with a stage of all nodes; rows that fail are told apart, nothing is raised for them.

    Args:
        code: What the stage does.
        model: The loaded stage; a ``LoadedStage`` where there is a ``watch``.
        elements: The rows.
        watch: Is told what each node does.
    """
    columns = RowSource(RowBatch(elements)).read(code)
    columns.watch = watch
    model.run(columns)
    return ScoredColumns(columns.rows, values_of(code, columns), in_order(columns.failures))


@dataclasses.dataclass(frozen=True, slots=True)
class RowSource:
    """The rows of a batch as they came.

    Attributes:
        batch: The rows, with their event times.
    """

    batch: RowBatch

    def __len__(self) -> int:
        return len(self.batch.elements)

    def read(self, code: StageCode) -> ColumnBatch:
        """Creates the ensemble's input columns; rows that are not as declared leave."""
        elements, form = self.batch.elements, code.form
        return read_columns(
            code,
            len(elements),
            lambda field, type_, truncates: field_of_values(
                form.values(elements, field), type_, field, truncates
            ),
        )

    def finish(self, code: StageCode, columns: ColumnBatch) -> BatchResult:
        """Builds the elements of both outputs, each with its event time."""
        written = written_outputs(code, columns, code.form.row)
        batch, failures = self.batch, in_order(columns.failures)
        elements, micros = batch.elements, batch.micros
        if failures:
            elements = [batch.elements[at] for at in columns.rows]
            micros = _at(batch.micros, columns.rows.tolist())
        added = (
            values if own is None else own
            for values, own in zip(values_of(code, columns), written, strict=True)
        )
        ok = code.form.extend(elements, tuple(added))
        failed = tuple((failure, _error_row(code, batch, failure)) for failure in failures)
        failed_micros = _at(batch.micros, [failure.index for failure in failures])
        return BatchResult(ok, micros, failed, failed_micros, batch.windows)

    def take(self, rows: np.ndarray) -> RowSource:
        """Returns some of the rows, by their indices."""
        elements = [self.batch.elements[at] for at in rows.tolist()]
        return RowSource(RowBatch(elements, _at(self.batch.micros, rows.tolist()), self.batch.windows))

    def time_key(self, micros: int) -> int | None:
        """Returns what batches that may be joined have in common: nothing, each row has a time of its own."""
        return None

    def oldest(self, micros: int) -> int:
        """Returns the event time of the oldest row of a batch at a time."""
        return micros if self.batch.micros is None else min(self.batch.micros)

    def timed(self, micros: int) -> RowSource:
        """Returns the same rows, each with an event time: that of the batch where they have none of their own."""
        batch = self.batch
        if batch.micros is not None:
            return self
        return RowSource(RowBatch(batch.elements, [micros] * len(batch.elements), batch.windows))

    def joined(self, others: Sequence[RowSource]) -> RowSource:
        """Returns these rows and those of other batches of the same windows, all with times of their own."""
        batches = [self.batch, *(other.batch for other in others)]
        elements = [element for batch in batches for element in batch.elements]
        micros = [micros for batch in batches for micros in batch.micros or ()]
        return RowSource(RowBatch(elements, micros, self.batch.windows))


def values_of(code: StageCode, columns: ColumnBatch) -> tuple[list[Any], ...]:
    """Returns the values of each output column as rows hold them, one a row that was scored."""
    if not len(columns):
        return tuple([] for _ in code.outputs)
    return tuple(_values(code, columns, name, type_) for name, type_ in code.outputs)


def _values(code: StageCode, columns: ColumnBatch, name: str, type_: Type) -> list[Any]:
    row = code.form.row
    valid = columns.columns.get(validity(name))
    return values_with_nulls(columns.columns[name], valid, lambda column: to_values(column, type_, row))


def _at(micros: Sequence[int] | None, rows: Sequence[int]) -> list[int] | None:
    return None if micros is None else [micros[at] for at in rows]


def _error_row(code: StageCode, batch: RowBatch, failure: RowFailure) -> Any:
    error = failure.error
    details = (code.ensemble, failure.node, error.code, error.message, error.stack)
    return code.form.failed(batch.elements[failure.index], details)
