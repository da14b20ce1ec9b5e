"""Scores one batch of rows: rows to columns, nodes, columns to rows. The whole of a one-stage ensemble but Beam."""

from __future__ import annotations

import dataclasses
import gc
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch, RowBatch, RowFailure
from beam_ensembles.columns.convert import Converted, to_column, to_values
from beam_ensembles.columns.rows import RowForm
from beam_ensembles.errors import NodeError, RowFailed
from beam_ensembles.graph.kinds import CheckedNode, Kinds, Member
from beam_ensembles.handlers.sharing import load_member
from beam_ensembles.runtime.executor import run_nodes
from beam_ensembles.runtime.metrics import NodeMeter
from beam_ensembles.types import Type


@dataclasses.dataclass(frozen=True, slots=True)
class StageCode:
    """What a stage does, as a value that travels to the workers.

    Attributes:
        ensemble: Name of the ensemble.
        nodes: The stage's nodes in the order in which they run.
        inputs: For each column read from the rows: its name, the row's field, its type.
        outputs: The columns to add, with their types.
        form: How rows are read and built.
    """

    ensemble: str
    nodes: tuple[CheckedNode, ...]
    inputs: tuple[tuple[str, str, Type], ...]
    outputs: tuple[tuple[str, Type], ...]
    form: RowForm


@dataclasses.dataclass(frozen=True, slots=True)
class ScoredColumns:
    """What became of a batch.

    Attributes:
        rows: Index of each row that was scored.
        added: Values of each output column, one a scored row.
        failures: The other rows, in order.
    """

    rows: np.ndarray
    added: tuple[list[Any], ...]
    failures: tuple[RowFailure, ...]


class LoadedStage:
    """The members of a stage, loaded once a worker process.

    Args:
        code: What the stage does.
        kinds: The table of all kinds.
    """

    def __init__(self, code: StageCode, kinds: Kinds) -> None:
        self._code = code
        self._members: dict[str, Member] = {}
        self._meters: dict[str, NodeMeter] = {}
        for node in code.nodes:
            meter = NodeMeter(code.ensemble, node.spec.name)
            before, start = _peak_memory(), time.monotonic()
            self._members[node.spec.name] = load_member(kinds[node.spec.kind, node.spec.target], node)
            meter.loaded(int((time.monotonic() - start) * 1_000), _peak_memory() - before)
            self._meters[node.spec.name] = meter
        gc.freeze()  # models and modules stay: the collector need not walk them again for every few hundred rows

    def score(self, elements: Sequence[Any]) -> ScoredColumns:
        """Scores elements of the PCollection; rows that fail are told apart, nothing is raised for them."""
        code = self._code
        batch = read_columns(
            code,
            len(elements),
            lambda field, type_: to_column(code.form.values(elements, field), type_, field),
        )
        self.run(batch)
        alive = len(batch) > 0
        row = code.form.row
        added = tuple(
            to_values(batch.columns[name], type_, row) if alive else [] for name, type_ in code.outputs
        )
        return ScoredColumns(batch.rows, added, in_order(batch.failures))

    def run(self, batch: ColumnBatch) -> None:
        """Runs the nodes over the input columns: theirs are added, rows that fail leave with their reasons."""
        run_nodes(self._code.nodes, self._members, self._meters, batch)


def in_order(failures: Sequence[RowFailure]) -> tuple[RowFailure, ...]:
    """Gives failures in the order of their rows."""
    return tuple(sorted(failures, key=lambda failure: failure.index))


def read_columns(code: StageCode, rows: int, read_field: Callable[[str, Type], Converted]) -> ColumnBatch:
    """Reads the stage's input columns; a row that is not as declared leaves the batch with its reason.

    Args:
        code: What the stage does.
        rows: How many rows there are.
        read_field: Gives a field of the rows as a column of a type.
    """
    faults: dict[int, NodeError] = {}
    read = {}
    for column, field, type_ in code.inputs:
        converted = read_field(field, type_)
        read[column] = converted
        for at, error in converted.faults.items():
            faults.setdefault(at, error)
    batch = ColumnBatch(np.arange(rows), {})
    batch.drop("", faults)
    for column, converted in read.items():
        batch.columns[column] = _without(converted.values, converted.faults, faults)
    return batch


def _without(
    values: np.ndarray,
    own: dict[int, NodeError],
    faults: dict[int, NodeError],
) -> np.ndarray:
    """Takes out of a column the rows that are bad in another column; its own bad rows are not in it."""
    if len(own) == len(faults):
        return values
    count = len(values) + len(own)
    present = np.setdiff1d(np.arange(count), list(own))
    return values[~np.isin(present, list(faults))]


def result_of(code: StageCode, batch: RowBatch, scored: ScoredColumns) -> BatchResult:
    """Builds the elements of both outputs, each with its event time."""
    elements: Sequence[Any] = batch.elements
    micros = batch.micros
    if scored.failures:
        elements = [batch.elements[at] for at in scored.rows]
        micros = None if batch.micros is None else [batch.micros[at] for at in scored.rows]
    ok = code.form.extend(elements, scored.added)
    failed = [(failure, _error_row(code, batch, failure)) for failure in scored.failures]
    failed_micros = None if batch.micros is None else [batch.micros[failure.index] for failure, _ in failed]
    return BatchResult(ok, micros, tuple(failed), failed_micros, batch.windows)


def bundle_error(ensemble: str, failure: RowFailure) -> RowFailed:
    """Gives what fails the bundle where a row failed and there is no error output."""
    return RowFailed(ensemble, failure.node, failure.error.code, failure.error.message)


def _error_row(code: StageCode, batch: RowBatch, failure: RowFailure) -> Any:
    error = failure.error
    details = (code.ensemble, failure.node, error.code, error.message, error.stack)
    return code.form.failed(batch.elements[failure.index], details)


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


def _peak_memory() -> int:
    """Gives the process's peak resident memory in bytes, as Beam's own ``model_byte_size`` takes it."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
