"""Scores one Arrow record batch of rows without ever making a row: columns, nodes, record batches of both outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import apache_beam as beam

from beam_ensembles.columns.arrow_batch import ArrowBatch, Element
from beam_ensembles.columns.batch import RowFailure
from beam_ensembles.columns.from_arrow import column_of
from beam_ensembles.columns.nulls import nullable_arrow_column
from beam_ensembles.graph.kinds import validity
from beam_ensembles.runtime.scoring import LoadedStage, Read, StageCode, bundle_error, in_order, read_columns
from beam_ensembles.types import Type


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
        """Gives the size of both elements in bytes."""
        return sum(_size(element) for element in (self.ok, self.failed) if element is not None)


def _size(element: Element) -> int:
    return len(element) if isinstance(element, bytes) else int(element.nbytes)


def score_arrow(code: StageCode, batch: ArrowBatch, model: LoadedStage) -> ArrowResult:
    """Scores a record batch; rows that fail are told apart, nothing is raised for them.

    Args:
        code: What the stage does.
        batch: The rows.
        model: The stage's members.
    """
    columns = read_columns(code, len(batch), lambda field, type_: _field(batch, field, type_))
    model.run(columns)
    scored = None
    if len(columns):
        added = [(columns.columns[name], columns.columns.get(validity(name))) for name, _ in code.outputs]
        scored = batch.scored(columns.rows, added)
    if not columns.failures:
        return ArrowResult(scored, None, None)
    failures = in_order(columns.failures)
    return ArrowResult(scored, _errors(code, batch, failures), failures[0])


def _field(batch: ArrowBatch, field: str, type_: Type) -> Read:
    array = batch.column(field)
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
