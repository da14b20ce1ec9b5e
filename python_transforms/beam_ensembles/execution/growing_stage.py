"""Where a stage runs: in the worker, in as many processes as somebody says, or at first in the one and then in these.

Where nobody says it, it is measured. A stage starts in the worker. When it has worked for a while it knows how many
cores were idle meanwhile, whatever else runs on the machine: other workers, the runner, the own threads of models. If
there are such cores, and memory, processes load the stage; the worker goes on until they are ready. A short pipeline
pays nothing for that, and where each core has a worker already, nothing changes.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final, TypeAlias

from beam_ensembles.beam_repairs.inference_imports import has_gpu_device
from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution.input_watch import InputWatch
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.profile_loading import load_profile
from beam_ensembles.execution.stage_processes import StageProcesses
from beam_ensembles.graph.core_use import worth_processes
from beam_ensembles.processes.machine import Machine
from beam_ensembles.processes.spare_cores import SpareCores

_LOGGER: Final = logging.getLogger(__name__)

FIRST_SECONDS: Final = 3.0
"""A stage first looks for idle cores when it has been busy for so long."""
LOADS: Final = 2
"""And for so many times as long as loading it took: while others load it they slow it down, which has to pay."""
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
    """A stage loaded in this process, and later in several, if there are cores and memory for them.

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
        self._spare, self._looks = SpareCores(), _LOOKS
        self._lock, self._is_settled = threading.Lock(), False

    def run(self, batch: ColumnBatch) -> None:
        """Does with a batch what ``LoadedStage.run`` does, wherever the stage is by now.

        Raises:
            EnsembleError: What the stage raised.
        """
        if self._is_settled:
            self._stage.run(batch)
            return
        with self._spare.measured():
            self._stage.run(batch)
        with self._lock:
            if not self._is_settled:
                self._grow()

    def _grow(self) -> None:
        try:
            if self._coming is None:
                self._look()
            elif self._coming.have_answered:
                self._is_settled = True
                self._stage, self._coming = self._coming.wait(), None
        except EnsembleError as error:
            self._is_settled = True
            text = "ensemble '%s' stays in one process, since it cannot be loaded in others: %s"
            _LOGGER.warning(text, self._code.ensemble, error)

    def _look(self) -> None:
        """Starts processes, if the stage was busy long enough and left cores idle."""
        if self._spare.seconds < self._next:
            return
        self._looks, self._next = self._looks - 1, 2 * self._next
        count = min(self._spare.processes(), self._machine.cores.count, MOST)
        self._spare.forget()
        if count > 1:
            text = "ensemble '%s' leaves cores idle: %d processes load it beside this one"
            _LOGGER.info(text, self._code.ensemble, count)
            self._coming = StageProcesses(self._code, count, self._machine.cores)
        else:
            self._is_settled = not self._looks


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
