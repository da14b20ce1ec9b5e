"""Whether a new version in a running pipeline still gives what the lock beside its file says, within limits.

The lock is read anew with each new version: somebody who means the change has locked it, and others have reviewed that.
The limits are those of the file with which the pipeline was made, so that a new version cannot widen them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.columns.nulls import blank
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.execution.growing_stage import Stage, WatchedStage
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode, in_order
from beam_ensembles.execution.node_metrics import Update
from beam_ensembles.files.ensemble_files import Files, local_path
from beam_ensembles.files.fetched_files import fetched
from beam_ensembles.files.lock_names import golden_of, lock_of
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.class_meanings import Meaning
from beam_ensembles.graph.kinds import valid_rows
from beam_ensembles.locks.answers import Answers, Column, input_columns, recorded_answers
from beam_ensembles.locks.behaviour import Compared, Comparison
from beam_ensembles.locks.contract import Contract, changes, with_meanings
from beam_ensembles.locks.differences import Limits, Version
from beam_ensembles.locks.golden_rows import answer_field
from beam_ensembles.locks.lock_text import Lock, parse_lock
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.refresh import Refused
from beam_ensembles.spec.load import read_text
from beam_ensembles.tables.chunk import Chunk, ChunkRows
from beam_ensembles.tables.parquet_files import ParquetReader
from beam_ensembles.types import Type, parse_type

_ROWS_AT_ONCE: Final = 1_024
_MOST_BYTES: Final = 1 << 30
"""The most bytes of a lock, or of golden rows, that are fetched."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gate:
    """What a new version is compared with.

    Attributes:
        lock: The place of the lock.
        limits: By how much the answers may differ.
    """

    lock: str
    limits: Limits

    @classmethod
    def of(cls, graph: EnsembleGraph, files: Files, uri: str | None) -> Gate | None:
        """Returns the gate that an ensemble file asks for; None where it asks for none.

        Args:
            graph: The ensemble.
            files: What the file may use.
            uri: Where the file is; None where its text came with the call.

        Raises:
            InvalidEnsemble: There is no lock to compare with, nobody vouches for it, or it is damaged.
        """
        asked = graph.spec.gate
        if asked is None:
            return None
        try:
            gate = cls(_usable(graph, files, uri), Limits(asked.max_label_changes, asked.max_shift))
            return dataclasses.replace(gate, limits=gate._settled(graph))
        except EnsembleError as error:
            problem = Problem("refresh.gate", "wrong_config", str(error))
            raise InvalidEnsemble([problem], ensemble=graph.spec.name) from error

    def _settled(self, graph: EnsembleGraph) -> Limits:
        """Returns the limits; where the file does not limit labels, and outputs have some, none may change.

        Raises:
            EnsembleError: The lock cannot be read, or the limits are on nothing that the ensemble adds.
        """
        with self._opened(graph.spec.name) as (lock, _):
            has_labels = Version.of_lock(lock).has_labels()
        limits = self.limits
        if limits.label_changes is None and has_labels:
            limits = dataclasses.replace(limits, label_changes=0.0)
        if (limits.label_changes is not None and not has_labels) or not limits:
            text = "no output of the ensemble has a label or a score per class"
            raise EnsembleError(f"{text}; say with 'max_shift' by how much its numbers may shift")
        return limits

    def check(self, ensemble: str, codes: Sequence[StageCode], stage: Stage) -> None:
        """Compares a version with the lock.

        Args:
            ensemble: The ensemble's name.
            codes: What each stage of the version does.
            stage: The first stage, loaded. The others are loaded here, one after another, and dropped.

        Raises:
            Refused: Its answers are beyond the limits, or are about other classes.
            EnsembleError: The lock, or its golden rows, cannot be read; or a later stage cannot be loaded.
        """
        code = codes[0]
        with self._opened(ensemble) as (lock, golden):
            version = Version.of_lock(lock)
            outputs = {name: type_ for name, type_ in code.outputs if name in version.makers}
            comparison = Comparison(
                Compared(
                    makers={name: version.makers[name] for name in outputs},
                    outputs=list(outputs),
                    nodes={},
                    scores=version.scores(),
                    tolerance=lock.golden.tolerance,
                )
            )
            inputs = {column: type_ for column, _, type_ in code.inputs}
            of_golden = dataclasses.replace(
                code,
                inputs=tuple((column, column, type_) for column, type_ in inputs.items()),
                form=ChunkRows((), inputs),
            )
            fields = {
                name: (answer_field(version.makers[name], name), _type(version, name)) for name in outputs
            }
            reader = ParquetReader(golden)
            lacking = sorted({*inputs, *(field for field, _ in fields.values())} - set(reader.fields))
            if lacking:
                raise EnsembleError(f"the golden rows of '{self.lock}' lack '{lacking[0]}'; lock again")
            golden_rows = [
                _GoldenRows(chunk, input_columns(of_golden, chunk)) for chunk in reader.chunks(_ROWS_AT_ONCE)
            ]
            _run(golden_rows, codes, stage)
            for rows in golden_rows:
                comparison.add(
                    recorded_answers(rows.chunk, fields), rows.answers(outputs), rows.chunk.numbers
                )
            before = {name: lock.outputs[name] for name in outputs if name in lock.outputs}
            after = with_meanings(before, golden_rows[0].meanings)
            changed = [one.text for one in changes(Contract({}, before), Contract({}, after))]
        beyond = [*changed, *self.limits.beyond(comparison.found())]
        if beyond:
            raise Refused(
                f"a new version is beyond the limits of the lock '{self.lock}': {'; '.join(beyond)}"
            )

    @contextlib.contextmanager
    def _opened(self, ensemble: str) -> Iterator[tuple[Lock, str]]:
        """Returns the lock and the path of its golden rows.

        Raises:
            EnsembleError: They cannot be read, do not go together, or are those of another ensemble.
        """
        with contextlib.ExitStack() as ends:
            try:
                text = read_text(_local(self.lock, ends))
                golden = _local(golden_of(self.lock), ends)
                with open(golden, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except (OSError, InvalidEnsemble) as error:
                said = error.problems[0].message if isinstance(error, InvalidEnsemble) else error.strerror
                raise EnsembleError(
                    f"the lock '{self.lock}' or its golden rows cannot be read: {said}"
                ) from error
            lock = parse_lock(text, self.lock)
            if lock.golden.sha256 != digest:
                text = f"the golden rows beside '{self.lock}' are not those that it was written with"
                raise EnsembleError(f"{text}; write both, then the models")
            if lock.ensemble != ensemble:
                raise EnsembleError(f"'{self.lock}' is the lock of another ensemble, '{lock.ensemble}'")
            yield lock, golden


def _usable(graph: EnsembleGraph, files: Files, uri: str | None) -> str:
    """Returns the place of an ensemble's lock.

    Raises:
        EnsembleError: It can have none, or nobody vouches for it.
    """
    if uri is None:
        text = "a gate needs the ensemble's file, beside which its lock lies"
        raise EnsembleError(f"{text}; name the file instead of sending its text")
    if not files.is_own and not files.is_trusted(lock_of(uri)):
        text = f"golden rows are read only from trusted places, and '{lock_of(uri)}' is not in one"
        raise EnsembleError(f"{text}; start the service with --trust and the folder")
    return lock_of(uri)


def _local(place: str, ends: contextlib.ExitStack) -> str:
    path = local_path(place)
    return os.path.abspath(path) if path is not None else ends.enter_context(fetched(place, most=_MOST_BYTES))


def _type(version: Version, column: str) -> Type:
    return parse_type(version.nodes[version.makers[column]].outputs[column].type)


class _GoldenRows:
    """Golden rows on their way through the stages.

    Args:
        chunk: The rows as they were read.
        batch: Their input columns.
    """

    def __init__(self, chunk: Chunk, batch: ColumnBatch) -> None:
        self.chunk, self._failures = chunk, list(batch.failures)
        self._batch = ColumnBatch(batch.rows, batch.columns)

    def run(self, stage: Stage, alive: Collection[str] | None) -> None:
        """Runs a stage; afterwards only the columns that later stages read are left, if there are any."""
        if len(self._batch):
            stage.run(self._batch)
        if alive is not None:
            self._batch.keep(alive)

    @property
    def meanings(self) -> Mapping[str, Meaning]:
        """What the stages that have run say of their columns' classes."""
        return self._batch.meanings

    def answers(self, outputs: Mapping[str, Type]) -> Answers:
        """Returns what the last stage answered."""
        rows = len(self.chunk)
        return Answers(
            {name: _whole(self._batch, name, type_, rows) for name, type_ in outputs.items()},
            in_order([*self._failures, *self._batch.failures]),
        )


def _run(golden: Sequence[_GoldenRows], codes: Sequence[StageCode], first: Stage) -> None:
    """Runs golden rows through all stages, each loaded when the one before has seen all rows."""
    for at, code in enumerate(codes):
        stage = first if at == 0 else LoadedStage(code, this_machine(), write=_not_counted)
        if isinstance(stage, WatchedStage):
            stage = stage.stage  # golden rows are no rows of the pipeline, whose profile is watched
        for rows in golden:
            rows.run(stage, code.alive)


def _not_counted(update: Update) -> None:
    """Drops what a node counts: golden rows are no rows of the pipeline."""


def _whole(batch: ColumnBatch, name: str, type_: Type, rows: int) -> Column:
    """Returns a column of a batch as one of all rows of its chunk."""
    valid, there = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    if not len(batch):
        return Column(type_, blank(rows, type_), valid, there)
    made = batch.columns[name]
    values = np.full((rows, *made.shape[1:]), None if made.dtype == object else 0, dtype=made.dtype)
    values[batch.rows], there[batch.rows] = made, True
    valid[batch.rows] = valid_rows(batch.columns, name)
    return Column(type_, values, valid, there)
