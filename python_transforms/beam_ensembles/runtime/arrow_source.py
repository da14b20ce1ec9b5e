"""Batches of rows that came in an Arrow record batch: no row is ever made of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa

from beam_ensembles.columns.arrow_batch import ArrowBatch, Element, size_of_element
from beam_ensembles.columns.batch import ColumnBatch, RowFailure
from beam_ensembles.columns.convert import finer_than_micros
from beam_ensembles.columns.from_arrow import column_of
from beam_ensembles.columns.nulls import field_of_values, nullable_arrow_column
from beam_ensembles.errors import NodeError
from beam_ensembles.execution.loaded_stage import Read, StageCode, bundle_error, in_order, read_columns
from beam_ensembles.execution.written_outputs import written_outputs
from beam_ensembles.graph.kinds import validity
from beam_ensembles.types import Scalar, Type


@dataclasses.dataclass(frozen=True, slots=True)
class ArrowResult:
    """The outputs of one record batch.

    Attributes:
        ok: The element of the main output; None where no row was scored.
        failed: The element of the error output; None where no row failed.
        first: The first failure, where there is one.
    """

    ok: Element | None
    failed: Element | None
    first: RowFailure | None

    def size(self) -> int:
        """Returns the size of both elements in bytes."""
        return size_of_element(self.ok) + size_of_element(self.failed)


@dataclasses.dataclass(frozen=True, slots=True)
class ArrowSource:
    """The rows of a record batch as they came.

    Attributes:
        batch: The record batch.
    """

    batch: ArrowBatch

    def __len__(self) -> int:
        return len(self.batch)

    def read(self, code: StageCode) -> ColumnBatch:
        """Creates the ensemble's input columns; rows that are not as declared leave."""
        return read_columns(
            code, len(self), lambda field, type_, truncates: _field(self.batch, field, type_, truncates)
        )

    def finish(self, code: StageCode, columns: ColumnBatch) -> ArrowResult:
        """Builds the elements of both outputs."""
        written = written_outputs(code, columns, None)
        scored = None
        if len(columns):
            added = [(columns.columns[name], columns.columns.get(validity(name))) for name, _ in code.outputs]
            scored = self.batch.scored(columns.rows, added, written)
        if not columns.failures:
            return ArrowResult(scored, None, None)
        failures = in_order(columns.failures)
        return ArrowResult(scored, _errors(code, self.batch, failures), failures[0])

    def take(self, rows: np.ndarray) -> ArrowSource:
        """Returns some of the rows, by their indices."""
        return ArrowSource(self.batch.take(rows))

    def time_key(self, micros: int) -> int | None:
        """Returns what batches that may be joined have in common: the element's time where rows have none."""
        return None if self.batch.rows.announced is None else micros

    def oldest(self, micros: int) -> int:
        """Returns the event time of the oldest row of an element at a time."""
        has_times = self.batch.rows.announced is None and len(self) > 0
        return self.batch.oldest() if has_times else micros

    def timed(self, micros: int) -> ArrowSource:
        """Returns the same rows: their times are in the record batch, or are those of the element."""
        return self

    def joined(self, others: Sequence[ArrowSource]) -> ArrowSource:
        """Returns these rows and those of other record batches."""
        return ArrowSource(self.batch.joined([other.batch for other in others]))


def _field(batch: ArrowBatch, field: str, type_: Type, truncates: bool) -> Read:
    if (values := batch.logical(field)) is not None:
        return field_of_values(values, type_, field, truncates)
    array, beyond = batch.column(field), batch.beyond_micros(field)
    finer = None if truncates else batch.finer_than_micros(field)
    if beyond is None and finer is None:
        return _read(array, field, type_)
    what = "is" if isinstance(type_, Scalar) else "has a point in time that is"
    faults = {
        **_faults(finer, finer_than_micros(field, type_)),
        **_faults(
            beyond, NodeError("wrong_value", f"input '{field}' {what} farther away than a timestamp can be")
        ),
    }
    good = np.ones(len(array), dtype=np.bool_)
    good[list(faults)] = False
    found, valid = _read(array.filter(pa.array(good)), field, type_)
    return found.among(np.flatnonzero(good), faults), valid


def _faults(rows: np.ndarray | None, error: NodeError) -> dict[int, NodeError]:
    return {} if rows is None else dict.fromkeys(np.flatnonzero(rows).tolist(), error)


def _read(array: pa.Array, field: str, type_: Type) -> Read:
    if type_.nullable:
        return nullable_arrow_column(array, type_, field)
    return column_of(array, type_, field), None


def _errors(code: StageCode, batch: ArrowBatch, failures: Sequence[RowFailure]) -> Element:
    details = [
        (code.ensemble, failure.node, failure.error.code, failure.error.message, failure.error.stack)
        for failure in failures
    ]
    return batch.failed([failure.index for failure in failures], details)


class EmitArrow(beam.DoFn):
    """Emits the record batches of both outputs; without an error output a failed row fails the bundle.

    Args:
        ensemble: Name of the ensemble, for the message.
        errors: Tag of the error output, or None.
    """

    def __init__(self, ensemble: str, errors: str | None) -> None:
        self._ensemble = ensemble
        self._errors = errors

    def process(self, result: ArrowResult) -> Iterable[Any]:
        if result.first is None:
            return () if result.ok is None else (result.ok,)
        if self._errors is None:
            raise bundle_error(self._ensemble, result.first)
        failed = beam.pvalue.TaggedOutput(self._errors, result.failed)
        return (failed,) if result.ok is None else (result.ok, failed)
