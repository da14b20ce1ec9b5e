"""What a stage does, its members loaded on a worker, and how the ensemble's input columns are read."""

from __future__ import annotations

import dataclasses
import functools
import gc
import logging
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from typing import Final, TypeAlias

import numpy as np

from beam_ensembles import logs
from beam_ensembles.bundles.user_code import use_code_of
from beam_ensembles.bundles.worker_bundles import with_bundles_at_hand
from beam_ensembles.columns.batch import ColumnBatch, RowFailure
from beam_ensembles.columns.convert import Converted
from beam_ensembles.columns.rows import RowForm
from beam_ensembles.errors import (
    ENDS_THE_PROGRAM,
    EnsembleError,
    InvalidEnsemble,
    NodeError,
    Problem,
    RowFailed,
)
from beam_ensembles.execution.answer_cache import cache_of, state_before
from beam_ensembles.execution.batch_parts import Parts, cut, join
from beam_ensembles.execution.loaded_classes import StepsByMeaning, unloaded
from beam_ensembles.execution.node_metrics import NodeMeter, Update, write_metric
from beam_ensembles.execution.node_steps import Begun, NodeStep
from beam_ensembles.execution.provenance import Provenance
from beam_ensembles.files.fetched_files import fetched_once
from beam_ensembles.graph.class_meanings import Meaning
from beam_ensembles.graph.core_use import nodes_beside
from beam_ensembles.graph.kinds import CheckedNode, Member, validity
from beam_ensembles.graph.profile_check import CheckedProfile
from beam_ensembles.handlers.support.load_failures import reason
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.processes.cores import Cores
from beam_ensembles.processes.machine import Machine
from beam_ensembles.types import Type

_LOGGER: Final = logging.getLogger(__name__)
_Load: TypeAlias = Callable[[CheckedNode, Machine], Member]


@dataclasses.dataclass(frozen=True, slots=True)
class StageCode:
    """What a stage does, as a value that travels to the workers.

    Attributes:
        ensemble: Name of the ensemble.
        nodes: The stage's nodes in the order in which they run.
        inputs: For each column read from the rows: its name, the row's field, its type.
        outputs: The columns to add, with their types.
        form: How rows are read and built.
        alive: The columns that later stages read; None for the last stage, which builds the outputs.
        provenance: What the last stage says of every row, if it says that.
        truncated: The input columns whose points in time lose their nanoseconds.
        written: For each output how its values cross (``columns.logical_types.writer_of``); empty where all of them
            cross as they are.
        profile: What the inputs are compared with, for the first stage of an ensemble that names a profile.
    """

    ensemble: str
    nodes: tuple[CheckedNode, ...]
    inputs: tuple[tuple[str, str, Type], ...]
    outputs: tuple[tuple[str, Type], ...]
    form: RowForm
    alive: tuple[str, ...] | None = None
    provenance: Provenance | None = None
    truncated: frozenset[str] = frozenset()
    written: tuple[bytes | None, ...] = ()
    profile: CheckedProfile | None = None

    @property
    def kept(self) -> frozenset[str]:
        """The columns that something reads when all nodes have run."""
        if self.alive is not None:
            return frozenset(self.alive)
        arms = () if self.provenance is None else self.provenance.routes
        return frozenset((*dict(self.outputs), *(column for _, column in arms)))


class LoadedStage:
    """The members of a stage, loaded once per worker process.

    Args:
        code: What the stage does.
        machine: What this process has of its machine.
        write: Takes what the nodes write to their metrics.
        load: Loads a node.
    """

    def __init__(
        self,
        code: StageCode,
        machine: Machine,
        write: Callable[[Update], None] = write_metric,
        load: _Load = load_member,
    ) -> None:
        nodes = with_bundles_at_hand(code.nodes)
        use_code_of(nodes)
        with fetched_once(node.uri for node in nodes):
            steps = [_load(node, write, lambda node: load(node, machine)) for node in nodes]
        self._machine = machine
        self._steps = StepsByMeaning(steps, machine)
        self._needs_pytorch = any(node.kind.needs_pytorch for node in nodes)
        self._beside = nodes_beside(nodes)
        self._parts, self._kept = Parts.of(nodes), code.kept
        gc.freeze()  # models and modules stay: the collector need not walk them again for every few hundred rows

    @property
    def meanings(self) -> Mapping[str, Meaning]:
        """The known meanings of the columns, once all models are loaded."""
        return self._steps.settled({}).meanings

    @property
    def nodes(self) -> tuple[CheckedNode, ...]:
        """The nodes, with what the loaded models say of the columns that they read."""
        return tuple(step.node for step in self._steps.settled({}).steps)

    def run(self, batch: ColumnBatch) -> None:
        """Runs the nodes over a batch: their columns are added, rows that fail leave with their reasons.

        A stage that needs PyTorch runs as a whole in the thread in which that is: a core waits at each change of
        thread, and PyTorch's other threads, which spin, may have taken it meanwhile.
        """
        settled = self._steps.settled(batch.meanings)
        if self._needs_pytorch:
            self._machine.pytorch.run(functools.partial(self._run_batch, batch, settled.steps))
        else:
            self._run_batch(batch, settled.steps)
        batch.meanings = settled.meanings

    def _run_batch(self, batch: ColumnBatch, steps: Sequence[NodeStep]) -> None:
        with self._machine.cores.one_used():
            if self._parts is None or not self._parts.are_worth(batch):
                self._run_nodes(batch, steps)
            else:
                self._run_parts(batch, self._parts.places(batch), steps)

    def _run_parts(
        self, batch: ColumnBatch, places: Iterable[slice], steps: Sequence[NodeStep], first: int = 0
    ) -> None:
        done = []
        for part in cut(batch, places):
            self._run_nodes(part, steps, first)
            part.keep(self._kept)
            done.append(part)
        join(batch, done)

    def _run_nodes(self, batch: ColumnBatch, steps: Sequence[NodeStep], first: int = 0) -> None:
        """Runs the nodes from the first one on; from one on that makes too much of the batch at once, in parts."""
        begun: dict[int, Begun] = {}
        try:
            for at, step in enumerate(steps[first:], start=first):
                if not len(batch):
                    return
                if len(places := step.parts_of(batch, self._kept)) > 1:
                    # What was begun runs again, on the rows of each part.
                    self._run_parts(batch, places, steps, at)
                    return
                if step.is_long:
                    _begin(
                        [(other, steps[other]) for other in self._beside[at]],
                        batch,
                        begun,
                        self._machine.cores,
                    )
                if at in begun:
                    step.finish(batch, begun.pop(at))
                else:
                    step.run(batch)
        finally:
            if begun:
                wait([left.answer for left in begun.values()])


def _begin(
    others: Sequence[tuple[int, NodeStep]], batch: ColumnBatch, begun: dict[int, Begun], cores: Cores
) -> None:
    """Begins other nodes that may run now."""
    for at, other in others:
        if at not in begun and other.may_begin(cores):
            begun[at] = other.begin(batch, cores)


def _load(
    node: CheckedNode, write: Callable[[Update], None], load: Callable[[CheckedNode], Member]
) -> NodeStep:
    """Loads a node's member; a shadow that cannot be loaded affects no other node."""
    with logs.about(node.ensemble, node.spec.name):
        return _load_in_its_name(node, write, load)


def _load_in_its_name(
    node: CheckedNode, write: Callable[[Update], None], load: Callable[[CheckedNode], Member]
) -> NodeStep:
    meter = NodeMeter(node.ensemble, node.spec.name, write)
    file = state_before(node)
    before, start = _peak_memory(), time.monotonic()
    try:
        member = load(node)
    except ENDS_THE_PROGRAM:
        raise
    except BaseException as error:  # code that calls sys.exit() ends neither a worker nor a program
        if node.spec.shadow_of is None:
            if isinstance(error, EnsembleError):
                raise
            text = f"loading it raises {reason(error)}"
            raise InvalidEnsemble([Problem(node.spec.path(), "load_failed", text)]) from error
        member = unloaded(node, error)
    meter.loaded(int((time.monotonic() - start) * 1_000), _peak_memory() - before)
    has_own = any(option.name == "retries" for option in node.kind.keys)
    retries = 0 if has_own else int(node.spec.options.get("retries", 0))
    return NodeStep(node, member, meter, retries, cache_of(node, file))


Read: TypeAlias = tuple[Converted, np.ndarray | None]
"""A field of the rows as a column with its faults, and which of its items have a value (None: all)."""


def in_order(failures: Sequence[RowFailure]) -> tuple[RowFailure, ...]:
    """Returns failures in the order of their rows."""
    return tuple(sorted(failures, key=lambda failure: failure.index))


def read_columns(code: StageCode, rows: int, read_field: Callable[[str, Type, bool], Read]) -> ColumnBatch:
    """Reads the stage's input columns; a row that is not as declared leaves the batch with its reason.

    Args:
        code: What the stage does.
        rows: How many rows there are.
        read_field: Gives a field of the rows as a column of a type; the last argument says whether its points in
            time lose their nanoseconds.
    """
    faults: dict[int, NodeError] = {}
    read: dict[str, Read] = {}
    for column, field, type_ in code.inputs:
        read[column] = read_field(field, type_, column in code.truncated)
        for at, error in read[column][0].faults.items():
            faults.setdefault(at, error)
    batch = ColumnBatch(np.arange(rows), {})
    batch.drop("", faults)
    for column, (converted, valid) in read.items():
        batch.add({column: _without(converted.values, converted.faults, faults)})
        if valid is not None:
            batch.add({validity(column): _without(valid, converted.faults, faults)})
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


def bundle_error(ensemble: str, failure: RowFailure) -> RowFailed:
    """Returns what fails the bundle where a row failed and there is no error output."""
    return RowFailed(ensemble, failure.node, failure.error.code, failure.error.message)


def _peak_memory() -> int:
    """Returns the process's peak resident memory in bytes, as Beam's own ``model_byte_size`` takes it."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
