"""Scores labelled rows in parts and keeps only what metrics need: the labels, the answers, and counts of each node."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import EnsembleError
from beam_ensembles.evaluation.answer_values import Kept, kept_for
from beam_ensembles.evaluation.labels import LIST, NUMBER, ClassCodes, as_kind, described, listed_classes
from beam_ensembles.evaluation.recombining import Combiner
from beam_ensembles.evaluation.subjects import PROBABILITIES, Subject
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.node_records import NodeRecord, NodeRecorder
from beam_ensembles.graph.kinds import Columns, valid_rows
from beam_ensembles.runtime.row_source import score
from beam_ensembles.tables.chunk import Chunk

MOST_KEPT_BYTES: Final = 2 << 30
_MOST_SLICES: Final = 200
OTHERS: Final = "(others)"
"""The slice of all values beyond the first 200."""


@dataclasses.dataclass(slots=True)
class NodeCost:
    """What a node has cost.

    Attributes:
        name: The node's name.
        runs: What it runs.
        when: Its condition, or empty.
        reached: Rows that reached it.
        asked: Rows that it was asked about.
        skipped: Rows that its condition left out.
        failed: Rows that it failed on.
        calls: Batches that it ran on.
        nanoseconds: How long its calls took.
    """

    name: str
    runs: str
    when: str
    reached: int = 0
    asked: int = 0
    skipped: int = 0
    failed: int = 0
    calls: int = 0
    nanoseconds: int = 0

    def add(self, record: NodeRecord) -> None:
        """Adds what a node did with a batch."""
        asked = int(np.count_nonzero(record.runs))
        self.reached += len(record.rows)
        self.asked += asked
        self.failed += len(record.faults)
        self.skipped += len(record.rows) - asked - sum(not record.runs[at] for at in record.faults)
        self.calls += asked > 0
        self.nanoseconds += record.nanoseconds


@dataclasses.dataclass(frozen=True, slots=True)
class Without:
    """A combiner without one of its members.

    Attributes:
        subject: The combiner's answer without it.
        member: The node that makes the column that is left out.
        combiner: Combines the others.
    """

    subject: Subject
    member: str
    combiner: Combiner


class Collected:
    """Labels, answers and counts of labelled rows, to which more are added.

    Args:
        code: What the ensemble's stage does.
        subjects: The ensemble, then all others to evaluate.
        votes: The votes whose probabilities are computed here, by their name.
        without: Combiners without one of their members.
        label: The field of the known answer.
        kind: What its values are.
        are_cells: Whether the values are cells of a CSV file.
        known: The classes that the ensemble can answer; empty where nothing says that.
        by: The field whose values are slices, or None.

    Attributes:
        rows: How many rows the file has had.
        failed: How many of them have no answer, by node and code.
        codes: The classes that have come, for labels.
        costs: What each node has cost.
    """

    def __init__(
        self,
        code: StageCode,
        subjects: Sequence[Subject],
        votes: Mapping[str, Combiner],
        without: Sequence[Without],
        *,
        label: str,
        kind: str,
        are_cells: bool,
        known: Sequence[Any],
        by: str | None,
    ) -> None:
        self.subjects, self.without, self.kind = tuple(subjects), tuple(without), kind
        self.known, self.by = list(known), by
        self._code, self._votes = code, votes
        self._label, self._are_cells = label, are_cells
        self.rows, self.failed = 0, collections.Counter[tuple[str, str]]()
        self.codes = ClassCodes(kind)
        for one in known:
            self.codes.code(one)
        self._closed = frozenset(known)
        self._labels: list[Any] = []
        self._kept: dict[int, Kept] = {}
        for at, subject in enumerate((*self.subjects, *(one.subject for one in without))):
            self._kept[at] = kept_for(kind, subject, self.codes)
        self._slices: dict[str, int] = {}
        self._slice_of: list[np.ndarray] = []
        self.costs = {
            node.spec.name: NodeCost(
                node.spec.name, f"{node.spec.kind}: {node.spec.target}", node.spec.when or ""
            )
            for node in code.nodes
        }

    def add(self, chunk: Chunk, stage: LoadedStage) -> NodeRecorder:
        """Scores some rows, keeps what is needed of them, and returns what each node did with them.

        Raises:
            EnsembleError: A label is null, of another kind or of a class that the ensemble does not know, or an answer
                is not a probability.
        """
        self.add_labels(chunk)
        for fault in chunk.faults:
            self.failed["", fault.error.code] += 1
        recorder = NodeRecorder()
        scored = score(self._code, stage, chunk, recorder)
        for failure in scored.failures:
            self.failed[failure.node, failure.error.code] += 1
        for record in recorder.records:
            self.costs[record.name].add(record)
        if self.by is not None:
            self._slice_of.append(self._slices_of(chunk.column(self.by)))
        gone = np.ones(len(chunk), np.bool_)
        gone[scored.rows] = False
        self._keep(chunk, recorder, gone)
        return recorder

    def add_labels(self, chunk: Chunk) -> None:
        """Keeps the labels of some rows, whose answers are kept elsewhere.

        Raises:
            EnsembleError: A label is null, of another kind or of a class that the ensemble does not know.
        """
        self.rows += len(chunk) + len(chunk.faults)
        self._labels += self._labels_of(chunk)

    def _keep(self, chunk: Chunk, recorder: NodeRecorder, gone: np.ndarray) -> None:
        subjects = (*self.subjects, *(one.subject for one in self.without))
        for at, subject in enumerate(subjects):
            own = None if at < len(self.subjects) else self.without[at - len(self.subjects)].combiner
            part = self._kept[at].part(len(chunk))
            for record in recorder.of(subject.node):
                if own is not None:
                    rows, made = own.again(record)
                else:
                    rows, made = record.left, self._whole(subject, record)
                if not len(rows) or not set(subject.answer.columns) <= set(made):
                    continue
                there = np.logical_and.reduce([valid_rows(made, name) for name in subject.answer.columns])
                if own is None:
                    there &= record.answered()
                if at == 0:
                    there &= ~gone[rows]
                values = {name: made[name][there] for name in subject.answer.columns}
                part.put(rows[there], values, chunk.numbers)
            self._kept[at].close(part)
        if sum(kept.bytes for kept in self._kept.values()) > MOST_KEPT_BYTES:
            text = f"the answers of {self.rows:,} rows need more than {MOST_KEPT_BYTES >> 30} GiB of memory"
            raise EnsembleError(f"{text}; evaluate fewer rows")

    def _whole(self, subject: Subject, record: NodeRecord) -> Columns:
        """Returns a node's columns, a vote's with its probabilities where its file does not ask for them."""
        name = PROBABILITIES + record.name
        if subject.answer.scores != name or not len(record.left):
            return record.made
        rows, made = self._votes[record.name].again(record)
        if len(rows) != len(record.left):  # rows that the vote failed on and that went on with nulls
            places = np.searchsorted(record.left, rows)
            values = np.zeros((len(record.left), *made[name].shape[1:])) if name in made else None
            if values is None:
                return record.made
            values[places] = made[name]
            return {**record.made, name: values}
        return {**record.made, name: made[name]}

    def _labels_of(self, chunk: Chunk) -> list[Any]:
        found = []
        for number, value in zip(chunk.numbers, chunk.column(self._label), strict=True):
            is_null = value is None or value != value or (self._are_cells and value == "")
            if is_null:
                text = f"row {number:,} has no label: '{self._label}' is null"
                raise EnsembleError(f"{text}; leave out rows whose answer is not known")
            try:
                label = as_kind(value, self.kind, is_cell=self._are_cells)
            except ValueError:
                text = f"row {number:,}: the label '{self._label}' is {described(value)}"
                raise EnsembleError(f"{text}, but those before it are {self.kind}") from None
            if self._closed and label not in self._closed:
                text = f"row {number:,}: the label '{self._label}' is {described(label)}, which is not a class of"
                raise EnsembleError(f"{text} the ensemble; its classes: {listed_classes(self.known)}")
            found.append(label if self.kind in (NUMBER, LIST) else self.codes.code(label))
        return found

    def _slices_of(self, values: Iterable[Any]) -> np.ndarray:
        found = []
        for value in values:
            text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            if text not in self._slices and len(self._slices) >= _MOST_SLICES:
                text = OTHERS
            found.append(self._slices.setdefault(text, len(self._slices)))
        return np.array(found, np.int32)

    @property
    def labels(self) -> Any:
        """The labels of all rows: numbers of classes, numbers, or lists."""
        return self._labels if self.kind == LIST else np.array(self._labels)

    @property
    def slices(self) -> tuple[list[str], np.ndarray]:
        """The values of the slices' field, and which of them each row has."""
        return list(self._slices), np.concatenate([np.zeros(0, np.int32), *self._slice_of])

    def answers(self, at: int) -> Any:
        """Returns what a subject has answered for all rows, by its place; those of ``without`` follow ``subjects``."""
        return self._kept[at].whole()
