"""One node of a loaded stage: which rows it runs on, and what becomes of those that it does not or fails on."""

from __future__ import annotations

import collections
import dataclasses
import functools
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Final

import numpy as np

from beam_ensembles import logs
from beam_ensembles.columns.batch import ColumnBatch, read_only, size_of
from beam_ensembles.columns.convert import to_column
from beam_ensembles.columns.nulls import blank, spread
from beam_ensembles.errors import NodeError, NodeFailed
from beam_ensembles.execution.answer_cache import AnswerCache
from beam_ensembles.execution.batch_parts import within
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.execution.node_metrics import NodeMeter
from beam_ensembles.execution.row_selection import Selection
from beam_ensembles.execution.shadows import compare
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, Work, validity
from beam_ensembles.handlers.support.beam_config import bytes_limit, call_limit
from beam_ensembles.handlers.support.call_counts import Counts, counting
from beam_ensembles.handlers.support.fitting_rows import FittingRows
from beam_ensembles.limits import MADE_AT_ONCE
from beam_ensembles.processes.cores import WORTH_NANOSECONDS, Cores

_ARMS: Final = "route"


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    """What a node is asked.

    Attributes:
        rows: The rows of the batch then.
        runs: Those that it runs on; None: all.
        columns: What it reads of them.
        count: How many they are.
        faults: Of the others those that lack what it needs, by their positions.
        skipped: How many its condition leaves out.
    """

    rows: np.ndarray
    runs: np.ndarray | None
    columns: Columns
    count: int
    faults: dict[int, NodeError]
    skipped: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Answer:
    """What it says.

    Attributes:
        outputs: Its columns of the rows that went well.
        faults: The errors of the others, by their positions among those asked.
        nanoseconds: How long that took.
        counts: What it counted besides rows.
    """

    outputs: Columns
    faults: dict[int, NodeError]
    nanoseconds: int
    counts: Counts | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Begun:
    """A node that runs on a core of its own."""

    asked: _Asked
    answer: Future[_Answer]


class NodeStep:
    """A node with its member; what does not change between batches is settled once.

    Args:
        node: The node.
        member: What it runs, loaded.
        meter: Its metrics.
        retries: How often a call of the member is made again, where it does not see to that itself.
        cache: Where its answers are kept, or None.

    Attributes:
        node: The node.
        member: What it runs.
    """

    def __init__(
        self,
        node: CheckedNode,
        member: Member,
        meter: NodeMeter,
        retries: int = 0,
        cache: AnswerCache | None = None,
    ) -> None:
        self.node, self.member, self._meter, self._cache = node, member, meter, cache
        self._name = node.spec.name
        self._subject = logs.subject(node.ensemble, self._name)
        self._limit, self._bytes = call_limit(node), bytes_limit(node)
        self._retries, self._fitting = retries, FittingRows(self._name)
        self._selection = Selection.of(node)
        self._reads = tuple(node.inputs)
        self._took = 0
        self._action = node.on_error.action
        self._defaults = {
            column: to_column([value], node.outputs[column], column).values
            for column, value in node.on_error.defaults.items()
            if value is not None  # a row that failed is null without it
        }

    def renewed(self, node: CheckedNode, member: Member) -> NodeStep:
        """Returns a step that does the same with another member, for a node of which more is known."""
        return NodeStep(node, member, self._meter, self._retries, self._cache)

    @property
    def is_long(self) -> bool:
        """Whether it takes so long that another node may run beside it: its last call did, or it waits for a server."""
        return self._waits or self._took > WORTH_NANOSECONDS

    def may_begin(self, cores: Cores) -> bool:
        """Whether it may start beside another node now: a core is to spare, or it waits for another machine."""
        return self.is_long and (self._waits or cores.has_spare)

    @property
    def _waits(self) -> bool:
        return self.node.kind.work is Work.ELSEWHERE

    def parts_of(self, batch: ColumnBatch, kept: Collection[str]) -> Sequence[slice]:
        """Returns the parts of a batch of which the node makes no more than memory has room for.

        Args:
            batch: The batch.
            kept: The columns that something reads when all nodes have run. Parts would save nothing of them.
        """
        bytes_made = getattr(self.member, "bytes_made", None)
        if bytes_made is None or len(batch) == 1 or not self.node.outputs.keys().isdisjoint(kept):
            return ()
        return within(bytes_made({name: batch.columns[name] for name in self._reads}), MADE_AT_ONCE)

    def run(self, batch: ColumnBatch) -> None:
        """Runs the node: adds its columns to the batch, and takes out the rows that it fails on.

        Args:
            batch: Changed in place.

        Raises:
            NodeFailed: It failed on a row, and the node's ``on_error`` is ``fail``.
        """
        token = logs.ABOUT.set(self._subject)
        try:
            asked = self._ask(batch)
            self._settle(batch, asked, self._answer(asked))
        finally:
            logs.ABOUT.reset(token)

    def begin(self, batch: ColumnBatch, cores: Cores) -> Begun:
        """Starts the node beside others, on the batch as it is now; the batch may change meanwhile."""
        start = cores.start_waiting if self._waits else cores.start
        with logs.about(self.node.ensemble, self._name):
            asked = self._ask(batch)
            return Begun(asked, start(functools.partial(self._answer, asked)))

    def finish(self, batch: ColumnBatch, begun: Begun) -> None:
        """Does what ``run`` does with what was begun; rows that have left the batch since are in nothing that it adds.

        Args:
            batch: That of ``begin``, changed in place.
            begun: What it gave.

        Raises:
            NodeFailed: It failed on a row that is still there, and the node's ``on_error`` is ``fail``.
        """
        with logs.about(self.node.ensemble, self._name):
            self._settle(batch, begun.asked, begun.answer.result())

    def _ask(self, batch: ColumnBatch) -> _Asked:
        """Selects the rows that the node runs on, and its columns of them."""
        rows = len(batch)
        faults: dict[int, NodeError] = {}
        runs, skipped = None, 0
        if self._selection is not None:
            runs, skipped = self._selection.rows(batch, faults)
            if runs.all():
                runs = None
        columns = self._columns(batch)
        if runs is not None:
            columns = {name: read_only(values[runs]) for name, values in columns.items()}
        count = rows if runs is None else int(np.count_nonzero(runs))
        return _Asked(batch.rows, runs, columns, count, faults, skipped)

    def _answer(self, asked: _Asked) -> _Answer:
        """Calls the member on what it was asked."""
        if not asked.count:
            return _Answer({}, {}, 0)
        start = time.perf_counter_ns()
        with counting() as counts:
            if self._cache is None:
                outputs, faults = self._call(self.member, asked.columns, asked.count)
            else:
                outputs, faults = self._cache.answer(self.member, asked.columns, self._call)
        self._took = time.perf_counter_ns() - start
        return _Answer(outputs, faults, self._took, counts)

    def _call(self, member: Member, columns: Columns, count: int) -> tuple[Columns, dict[int, NodeError]]:
        limit = self._rows_a_call(columns, count)
        return run_split(member, columns, count, limit, self._retries, self._fitting)

    def _settle(self, batch: ColumnBatch, asked: _Asked, answer: _Answer) -> None:
        """Counts, and adds what was answered to the batch."""
        if batch.rows is not asked.rows:
            asked, answer = _still_there(batch.rows, asked, answer)
        self._count(asked, answer)
        runs, faults = asked.runs, asked.faults
        if answer.faults:
            places = np.arange(len(batch)) if runs is None else np.flatnonzero(runs)
            faults = faults | {int(places[at]): error for at, error in answer.faults.items()}
        if batch.watch is not None:
            batch.watch.asked(self.node, batch, runs, faults, answer.nanoseconds)
        if runs is None and not faults:
            self._add(batch, answer.outputs)
        else:
            which = np.ones(len(batch), dtype=np.bool_) if runs is None else runs
            self._add_some(batch, answer.outputs, which, faults)
        if batch.watch is not None:
            batch.watch.answered(self.node, batch)

    def _count(self, asked: _Asked, answer: _Answer) -> None:
        if asked.skipped:
            self._meter.skipped(asked.skipped)
        if asked.faults:
            self._meter.failed(len(asked.faults))
        if asked.count:
            size = sum(values.nbytes for values in asked.columns.values())
            self._meter.ran(asked.count, size, answer.nanoseconds, len(answer.faults))
        if answer.counts is not None:
            self._meter.used(answer.counts)

    def _rows_a_call(self, columns: Columns, rows: int) -> int | None:
        """The most rows that one call may get; of bytes the rows of a batch are taken to have the same share."""
        if self._bytes is None:
            return self._limit
        size = sum(map(size_of, columns.values()))
        within = max(1, self._bytes * rows // max(size, 1))
        return within if self._limit is None else min(within, self._limit)

    def _columns(self, batch: ColumnBatch) -> dict[str, np.ndarray]:
        if self.node.takes_nulls:
            return batch.read(self._reads)
        return {name: batch.columns[name] for name in self._reads}

    def _add(self, batch: ColumnBatch, outputs: Columns) -> None:
        batch.add(outputs)
        if self.node.spec.kind == _ARMS:
            for column in self.node.outputs:
                self._meter.took(
                    collections.Counter(arm for arm in outputs[column].tolist() if arm is not None)
                )
        if self.node.compared:
            self._meter.compared(compare(self.node.compared, batch.columns, self.node.spec.tolerance))

    def _add_some(
        self, batch: ColumnBatch, outputs: Columns, runs: np.ndarray, faults: Mapping[int, NodeError]
    ) -> None:
        """Adds columns of some of the rows; the others are null, have defaults, or leave."""
        answered = runs.copy()
        answered[list(faults)] = False
        if faults and self._action == "fail":
            error = faults[min(faults)]
            raise NodeFailed(self.node.ensemble, self._name, error.code, error.message)
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
        """Returns the node's columns for all rows of the batch."""
        if answered.all():
            return dict(outputs)
        filled: dict[str, np.ndarray] = {}
        for column, type_ in self.node.outputs.items():
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


def _still_there(rows: np.ndarray, asked: _Asked, answer: _Answer) -> tuple[_Asked, _Answer]:
    """Returns what a node would have been asked and would have said if only some of the rows had been there then.

    Args:
        rows: Those.
        asked: What it was asked; its columns stay as they are.
        answer: What it said.
    """
    there = np.isin(asked.rows, rows)
    runs = None if asked.runs is None else asked.runs[there]
    called = there if asked.runs is None else there[asked.runs]
    went_well = np.ones(len(called), dtype=np.bool_)
    went_well[list(answer.faults)] = False
    outputs = {name: values[called[went_well]] for name, values in answer.outputs.items()}
    faults, own = _moved(asked.faults, there), _moved(answer.faults, called)
    count = int(np.count_nonzero(called))
    skipped = len(rows) - count - len(faults)
    return (
        dataclasses.replace(asked, rows=rows, runs=runs, count=count, faults=faults, skipped=skipped),
        dataclasses.replace(answer, outputs=outputs, faults=own),
    )


def _moved(faults: Mapping[int, NodeError], there: np.ndarray) -> dict[int, NodeError]:
    """Returns the faults of some of the rows, by their new positions."""
    places = np.cumsum(there) - 1
    return {int(places[at]): error for at, error in faults.items() if there[at]}
