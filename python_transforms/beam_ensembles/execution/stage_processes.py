"""A stage in several processes: more than one core works at a time, also for what Python's lock keeps to one thread.

Some of Beam's runners start several workers for that where they are told to; Prism, and Beam's runner for Python, start
one. Here the worker keeps rows, metrics and logs, and columns travel to processes that hold nothing but the loaded
stage: what comes of a batch is what would come of it in the worker. How many there are: ``growing_stage``.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch, concatenated
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution import stage_process
from beam_ensembles.execution.batch_parts import Parts
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.execution.node_metrics import write_metric
from beam_ensembles.execution.stage_answers import Answer, Scored
from beam_ensembles.processes import child_process
from beam_ensembles.processes.cores import Cores

_LOGGER: Final = logging.getLogger(__name__)
_LEAST_ROWS: Final = 32
"""Fewer rows are not worth a second process."""
_PIECES_A_PROCESS: Final = 2
"""For stages whose models take a fixed number of rows anyway: whichever process is free first takes the next piece."""


class StageProcesses:
    """A stage loaded in several processes.

    Args:
        code: What the stage does.
        count: How many processes.
        cores: The cores of this process, which they share.

    Raises:
        EnsembleError: The system cannot have another process.
    """

    def __init__(self, code: StageCode, count: int, cores: Cores) -> None:
        self._count, self._cores = count, cores
        self._parts = Parts.of(code.nodes)
        self._threads = ThreadPoolExecutor(count, "stage")
        self._idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        self._processes = [_Process(code, max(cores.count // count, 1)) for _ in range(count)]
        for process in self._processes:
            weakref.finalize(self, process.let_go)

    @property
    def have_answered(self) -> bool:
        """Whether ``wait`` would not wait."""
        return all(process.has_answered for process in self._processes)

    def wait(self) -> StageProcesses:
        """Waits until all processes have loaded the stage; returns this.

        Raises:
            EnsembleError: It cannot be loaded.
        """
        try:
            for process in self._processes:
                process.wait()
                self._idle.put(process)
        except EnsembleError:
            for process in self._processes:
                process.end()
            raise
        return self

    def run(self, batch: ColumnBatch) -> None:
        """Does with a batch what ``LoadedStage.run`` does: a piece in each idle process, as a whole where none is.

        Raises:
            EnsembleError: What the stage raised, or a process died twice on these rows.
        """
        if not len(batch):
            return
        pieces = self._pieces(batch)
        try:
            answers = list((self._threads.map if len(pieces) > 1 else map)(self._ask, pieces))
        except Exception:
            raise
        except (
            BaseException
        ):  # this process ends, and would wait for threads that wait for answers or for work
            self._threads.shutdown(wait=False, cancel_futures=True)
            for process in self._processes:
                process.stop()
            raise
        for answer in answers:
            _write(answer)
        _join(batch, [answer.found for answer in answers])

    def _pieces(self, batch: ColumnBatch) -> Sequence[ColumnBatch]:
        rows = len(batch)
        if self._parts is None:
            count = min(self._idle.qsize(), rows // _LEAST_ROWS)
        else:
            count = min(self._count * _PIECES_A_PROCESS, rows // self._parts.rows)
        if count <= 1 or self._cores.is_one_used():
            return [ColumnBatch(batch.rows, batch.columns, meanings=batch.meanings)]
        edges = [rows * at // count for at in range(count + 1)]
        places = [slice(start, end) for start, end in itertools.pairwise(edges)]
        return [batch.take(some, batch.rows[some]) for some in places]

    def _ask(self, batch: ColumnBatch) -> Answer:
        process = self._idle.get()
        try:
            return process.score(batch)
        finally:
            self._idle.put(process)


class _Process:
    """One of the processes, and this end of the pipe to it.

    Args:
        code: What the stage does.
        cores: How many cores it is to use.
    """

    def __init__(self, code: StageCode, cores: int) -> None:
        self._code, self._cores = code, cores
        self._is_stopped = False
        self._start()

    @property
    def has_answered(self) -> bool:
        """Whether it has loaded the stage, or said why it cannot, or ended."""
        return self._pipe.poll(0)

    def wait(self) -> None:
        """Waits until the stage is loaded.

        Raises:
            EnsembleError: It cannot be.
        """
        try:
            answer: Answer = self._pipe.recv()
        except EOFError:
            text = f"a process of ensemble '{self._code.ensemble}' died{child_process.how_it_ended(self._process)}"
            raise EnsembleError(f"{text} before it had loaded its models") from None
        _write(answer)
        if isinstance(answer.found, EnsembleError):
            raise answer.found

    def score(self, batch: ColumnBatch) -> Answer:
        """Scores a batch in a process; where the process has died, a new one gets it once.

        Raises:
            EnsembleError: That one died too, or cannot load the stage, or the system refuses what it takes.
        """
        if not self._pipe.closed:
            try:
                return self._ask(batch)
            except EOFError:
                how = child_process.how_it_ended(self._process)
                if self._is_stopped:
                    raise EnsembleError("the stage was interrupted") from None
                _LOGGER.warning(
                    "a process of ensemble '%s' died%s; it is started again", self._code.ensemble, how
                )
        self.end()
        self._start()
        self.wait()
        try:
            return self._ask(batch)
        except EOFError:
            how = child_process.how_it_ended(self._process)
            text = f"a process of ensemble '{self._code.ensemble}' died twice on the same rows{how}"
            raise EnsembleError(
                f"{text}; a node that does can have a process of its own: 'isolate: process'"
            ) from None

    def end(self) -> None:
        """Ends the process."""
        child_process.end(self._process, self._pipe)

    def let_go(self) -> None:
        """Ends the process, where Python collects garbage."""
        child_process.let_go(self._process, self._pipe)

    def stop(self) -> None:
        """Kills the process, whoever waits for its answer, and starts none in its place."""
        self._is_stopped = True
        self._process.kill()

    def _start(self) -> None:
        self._process, self._pipe = child_process.start(stage_process.__name__, cores=self._cores)
        with contextlib.suppress(EOFError):  # one that is gone already is found out by whoever waits for it
            self._pipe.send(logging.getLogger().getEffectiveLevel())
            self._pipe.send(self._code)

    def _ask(self, batch: ColumnBatch) -> Answer:
        try:
            self._pipe.send(batch)
            answer: Answer = self._pipe.recv()
        except EOFError:
            raise
        except BaseException as error:
            self.end()  # or its answer would be taken for that to the next batch
            if not isinstance(error, OSError):
                raise
            text = f"a process of ensemble '{self._code.ensemble}' cannot be reached: {error.strerror}"
            raise EnsembleError(text) from error
        return answer


def _write(answer: Answer) -> None:
    """Writes a process's metrics and logs in this thread, as if it had been this one."""
    for update in answer.updates:
        write_metric(update)
    for record in answer.records:
        logging.getLogger(record.name).handle(record)


def _join(batch: ColumnBatch, found: Sequence[Scored | EnsembleError | None]) -> None:
    """Puts what became of the pieces of a batch into it.

    Raises:
        EnsembleError: What the stage raised on one.
    """
    for error in found:
        if isinstance(error, EnsembleError):
            raise error
    scored = [piece for piece in found if isinstance(piece, Scored)]
    rows = np.concatenate([piece.rows for piece in scored])
    if len(rows) < len(batch):
        batch.columns = batch.take(np.isin(batch.rows, rows), rows).columns
        batch.rows = rows
    batch.failures.extend(failure for piece in scored for failure in piece.failures)
    batch.meanings = scored[0].meanings
    batch.add(concatenated([piece.columns for piece in scored if len(piece.rows)]))
