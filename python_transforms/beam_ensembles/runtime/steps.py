"""One node of a loaded stage: which rows it runs on, and what becomes of those that it does not or fails on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import numpy as np

from beam_ensembles import logs
from beam_ensembles.columns.batch import ColumnBatch, read_only, size_of
from beam_ensembles.columns.convert import to_column
from beam_ensembles.columns.nulls import blank, spread
from beam_ensembles.errors import NodeError, NodeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, validity
from beam_ensembles.handlers.config import batch_limit, bytes_limit
from beam_ensembles.runtime.executor import run_split
from beam_ensembles.runtime.metrics import NodeMeter
from beam_ensembles.runtime.selection import Selection
from beam_ensembles.runtime.shadows import agreements

_ARMS: Final = "route"


class NodeStep:
    """A node with its member; what does not change between batches is settled once.

    Args:
        node: The node.
        member: What it runs, loaded.
        meter: Its metrics.
        retries: How often a call of the member is made again, where it does not see to that itself.
    """

    def __init__(self, node: CheckedNode, member: Member, meter: NodeMeter, retries: int = 0) -> None:
        self._node, self._member, self._meter = node, member, meter
        self._name = node.spec.name
        self._subject = logs.subject(node.ensemble, self._name)
        self._limit, self._bytes = batch_limit(node), bytes_limit(node)
        self._retries = retries
        self._selection = Selection.of(node)
        self._reads = tuple(node.inputs)
        self._action = node.on_error.action
        self._defaults = {
            column: to_column([value], node.outputs[column], column).values
            for column, value in node.on_error.defaults.items()
        }

    def run(self, batch: ColumnBatch) -> None:
        """Runs the node: adds its columns to the batch, and takes out the rows that it fails on.

        Args:
            batch: Changed in place.

        Raises:
            NodeFailed: It failed on a row, and the node's ``on_error`` is ``fail``.
        """
        token = logs.ABOUT.set(self._subject)
        try:
            self._run(batch)
        finally:
            logs.ABOUT.reset(token)

    def _run(self, batch: ColumnBatch) -> None:
        rows = len(batch)
        faults: dict[int, NodeError] = {}
        runs = self._runs_on(batch, faults)
        columns = self._columns(batch)
        if runs is not None:
            columns = {name: read_only(values[runs]) for name, values in columns.items()}
        count = rows if runs is None else int(np.count_nonzero(runs))
        outputs: Columns = {}
        if count:
            start = time.perf_counter_ns()
            outputs, own = run_split(
                self._member, columns, count, self._rows_a_call(columns, count), self._retries
            )
            self._meter.ran(count, columns, time.perf_counter_ns() - start, len(own))
            if own:
                places = np.arange(rows) if runs is None else np.flatnonzero(runs)
                faults.update((int(places[at]), error) for at, error in own.items())
        if runs is None and not faults:
            self._add(batch, outputs)
        else:
            self._settle(batch, outputs, np.ones(rows, dtype=np.bool_) if runs is None else runs, faults)

    def _rows_a_call(self, columns: Columns, rows: int) -> int | None:
        """Gives the most rows that one call may get; of bytes the rows of a batch are taken to have the same share."""
        if self._bytes is None:
            return self._limit
        size = sum(map(size_of, columns.values()))
        within = max(1, self._bytes * rows // max(size, 1))
        return within if self._limit is None else min(within, self._limit)

    def _runs_on(self, batch: ColumnBatch, faults: dict[int, NodeError]) -> np.ndarray | None:
        """Says for which rows the node runs; None: for all. Rows that lack what it needs are added to the faults."""
        if self._selection is None:
            return None
        runs, skipped = self._selection.rows(batch, faults)
        if skipped:
            self._meter.skipped(skipped)
        if faults:
            self._meter.failed(len(faults))
        return None if runs.all() else runs

    def _columns(self, batch: ColumnBatch) -> dict[str, np.ndarray]:
        if self._node.takes_nulls:
            return batch.read(self._reads)
        return {name: batch.columns[name] for name in self._reads}

    def _add(self, batch: ColumnBatch, outputs: Columns) -> None:
        batch.add(outputs)
        if self._node.spec.kind == _ARMS:
            for column in self._node.outputs:
                self._meter.took(arm for arm in outputs[column].tolist() if arm is not None)
        if self._node.compared:
            self._meter.compared(*agreements(self._node.compared, batch.columns))

    def _settle(
        self, batch: ColumnBatch, outputs: Columns, runs: np.ndarray, faults: Mapping[int, NodeError]
    ) -> None:
        """Adds columns of some of the rows; the others are null, have defaults, or leave."""
        answered = runs.copy()
        answered[list(faults)] = False
        if faults and self._action == "fail":
            error = faults[min(faults)]
            raise NodeFailed(self._node.ensemble, self._name, error.code, error.message)
        if self._action == "fail_row":
            batch.drop(self._name, faults)
            if not len(batch):
                return
            answered = np.delete(answered, list(faults))
        filled = self._filled(outputs, answered)
        if faults and self._action == "default":
            self._put_defaults(filled, list(faults))
        if faults and self._action != "fail_row":
            batch.ignore(self._name, list(faults))
        self._add(batch, filled)

    def _filled(self, outputs: Columns, answered: np.ndarray) -> dict[str, np.ndarray]:
        """Gives the node's columns for all rows of the batch."""
        if answered.all():
            return dict(outputs)
        filled: dict[str, np.ndarray] = {}
        for column, type_ in self._node.outputs.items():
            values, valid = outputs.get(column), outputs.get(validity(column))
            filled[column] = blank(len(answered), type_) if values is None else spread(values, answered)
            filled[validity(column)] = answered if valid is None else spread(valid, answered)
        return filled

    def _put_defaults(self, filled: dict[str, np.ndarray], places: list[int]) -> None:
        for column, value in self._defaults.items():
            filled[column][places] = value
            filled[validity(column)][places] = True
            if filled[validity(column)].all():
                del filled[validity(column)]
