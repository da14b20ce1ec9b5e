"""Where a stage runs: in the worker, in as many processes as somebody says, or at first in the one and then in these.

Where nobody says it, it is measured. A stage starts in the worker. When it has worked for a while it knows how many
cores were idle meanwhile, whatever else runs on the machine: other workers, the runner, the own threads of models. If
there are such cores, or models that use all cores for a call, and memory, processes load the stage; the worker goes on
until they are ready. Then they prove that they are faster, or the worker goes on alone. A short pipeline pays nothing
for that, and where each core has a worker already, nothing changes.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final, TypeAlias

from beam_ensembles.beam_repairs.inference_imports import has_gpu_device
from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution.batch_parts import cut, join
from beam_ensembles.execution.input_watch import InputWatch
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.profile_loading import load_profile
from beam_ensembles.execution.stage_processes import StageProcesses
from beam_ensembles.graph.core_use import uses_all_cores, worth_processes
from beam_ensembles.processes.machine import Machine
from beam_ensembles.processes.spare_cores import SpareCores

_LOGGER: Final = logging.getLogger(__name__)

FIRST_SECONDS: Final = 3.0
"""A stage first looks for idle cores when it has been busy for so long."""
LOADS: Final = 2
"""And for so many times as long as loading it took: while others load it they slow it down, which has to pay."""
TRIAL_SECONDS: Final = 3.0
"""Processes are compared with the worker alone over so many seconds of their work."""
WARM_SECONDS: Final = 1.0
"""The first work of each is not counted: the first calls of a model are slow."""
_GAIN: Final = 1.05
"""They stay if they are faster by such a factor, since they take memory."""
PIECE_ROWS: Final = 1_024
"""Until it is settled where the stage runs, a batch is scored in pieces of so many rows, each where it runs by then."""
_LOOKS: Final = 5
"""How often it looks, after twice as long each time."""
MOST: Final = 16
"""More processes than that only somebody who says so gets."""


def load_stage(code: StageCode, machine: Machine, *, arrow: bool = False) -> Stage:
    """Loads a stage, in this process or in as many as the machine has for one, where it has work for them.

    Args:
        code: What the stage does.
        machine: What this process has of its machine.
        arrow: Whether its batches come in Arrow.

    Raises:
        EnsembleError: It cannot be loaded.
    """
    if code.profile is not None:
        watch = InputWatch(
            code.ensemble, load_profile(code.profile), frozenset(name for name, _, _ in code.inputs)
        )
        return WatchedStage(_load_stage(code, machine, arrow), watch)
    return _load_stage(code, machine, arrow)


def _load_stage(
    code: StageCode, machine: Machine, arrow: bool
) -> LoadedStage | StageProcesses | GrowingStage:
    count = machine.stage_processes
    if count is None:
        is_worth = machine.cores.count > 1 and worth_processes(code.nodes, arrow=False)
        may_grow = is_worth and not has_gpu_device()  # whose memory would have to hold each model twice
        return GrowingStage(code, machine) if may_grow else LoadedStage(code, machine)
    if count > 1 and worth_processes(code.nodes, arrow):
        return StageProcesses(code, count, machine.cores).wait()
    return LoadedStage(code, machine)


class GrowingStage:
    """A stage loaded in this process, and later in several, if there are cores and memory for them and it is faster.

    Args:
        code: What the stage does.
        machine: What this process has of its machine.

    Raises:
        EnsembleError: It cannot be loaded.
    """

    def __init__(self, code: StageCode, machine: Machine) -> None:
        self._code, self._machine = code, machine
        start = time.monotonic()
        self._stage: LoadedStage | StageProcesses = LoadedStage(code, machine)
        self._next = max(FIRST_SECONDS, LOADS * (time.monotonic() - start))
        self._coming: StageProcesses | None = None
        self._alone: LoadedStage | StageProcesses | None = None
        self._spare, self._looks = SpareCores(), _LOOKS
        self._is_warm, self._rate_alone = False, 0.0
        self._lock, self._is_settled = threading.Lock(), False

    def run(self, batch: ColumnBatch) -> None:
        """Does with a batch what ``LoadedStage.run`` does, wherever the stage is by now.

        Raises:
            EnsembleError: What the stage raised.
        """
        if self._is_settled or len(batch) <= PIECE_ROWS:
            self._run(batch)
            return
        places = [slice(at, at + PIECE_ROWS) for at in range(0, len(batch), PIECE_ROWS)]
        pieces = list(cut(batch, places))
        for piece in pieces:
            self._run(piece)
        join(batch, pieces)
        batch.meanings = pieces[0].meanings

    def _run(self, batch: ColumnBatch) -> None:
        stage = self._stage
        if self._is_settled:
            stage.run(batch)
            return
        with self._spare.measured(len(batch)):
            stage.run(batch)
        with self._lock:
            if stage is self._stage and not self._is_settled:
                self._grow()

    def _grow(self) -> None:
        try:
            if self._coming is not None:
                if self._coming.have_answered:
                    self._alone, self._stage, self._coming = self._stage, self._coming.wait(), None
                    self._is_warm = False
                    self._spare.forget()
            elif not self._is_warm:
                if self._spare.seconds >= WARM_SECONDS:
                    self._is_warm = True
                    self._spare.forget()
            elif self._alone is not None:
                self._compare(self._alone)
            else:
                self._look()
        except EnsembleError as error:
            self._is_settled = True
            text = "ensemble '%s' stays in one process, since it cannot be loaded in others: %s"
            _LOGGER.warning(text, self._code.ensemble, error)

    def _look(self) -> None:
        """Starts processes, if the stage was busy long enough, and left cores idle or used them all for one call."""
        if self._spare.seconds < self._next:
            return
        self._looks, self._next = self._looks - 1, 2 * self._next
        count = self._spare.processes()
        text = "ensemble '%s' leaves cores idle: %d processes load it beside this one"
        if count == 1 and uses_all_cores(self._code.nodes):
            count = self._spare.processes_of_one_core()
            text = "ensemble '%s' uses several cores for a call: %d processes, which load it, may be faster"
        count = min(count, self._machine.cores.count, MOST)
        self._rate_alone = self._spare.items_per_second
        self._spare.forget()
        if count > 1:
            _LOGGER.info(text, self._code.ensemble, count)
            self._coming = StageProcesses(self._code, count, self._machine.cores)
        else:
            self._is_settled = not self._looks

    def _compare(self, alone: LoadedStage | StageProcesses) -> None:
        """Goes back to the one process, if the others have worked long enough and are no faster."""
        if self._spare.seconds < TRIAL_SECONDS:
            return
        gain = self._spare.items_per_second / max(self._rate_alone, 1e-9)
        self._is_settled, self._alone = True, None
        if gain < _GAIN:
            self._stage = alone
        where = "one process" if gain < _GAIN else "several processes"
        text = "ensemble '%s' stays in %s: several score %.2f times as many rows per second as one"
        _LOGGER.info(text, self._code.ensemble, where, gain)


class WatchedStage:
    """A stage whose input columns are compared with a profile before its nodes run, always in this process.

    Args:
        stage: The loaded stage.
        watch: Compares.

    Attributes:
        stage: The loaded stage.
        watch: Compares.
    """

    def __init__(self, stage: LoadedStage | StageProcesses | GrowingStage, watch: InputWatch) -> None:
        self.stage, self.watch = stage, watch

    def run(self, batch: ColumnBatch) -> None:
        """Does with a batch what ``LoadedStage.run`` does.

        Raises:
            EnsembleError: What the stage raised.
        """
        self.watch.add(batch)
        self.stage.run(batch)


Stage: TypeAlias = LoadedStage | StageProcesses | GrowingStage | WatchedStage
"""A loaded stage, wherever it runs."""
