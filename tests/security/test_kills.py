"""Processes that hold models are killed at any moment: every row comes out once, and nothing hangs."""

from __future__ import annotations

import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import joblib
import numpy as np
import psutil
import pytest

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.columns.rows import ObjectRows
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution import stage_processes
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.node_metrics import Update
from beam_ensembles.execution.stage_processes import StageProcesses
from beam_ensembles.files.ensemble_files import LIBRARY_CODE, Files
from beam_ensembles.graph import check_text
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.registry import KINDS
from tests.support.fuzzing import EXAMPLES
from tests.support.patience import SECONDS

NAME: Final = 15
KILLS: Final = max(2, EXAMPLES // 100)
"""How many processes each test kills at random moments."""
ROWS: Final = 100
DIED: Final = re.compile(r"a process of ensemble 'e' died of signal 9 .* before|died twice on the same rows")
"""Why a bundle may fail: a process is killed, and so is the one in its place before it has answered."""
Load: TypeAlias = Callable[..., tuple[Any, Callable[[], list[psutil.Process]]]]


class Slow:
    """Adds numbers up, and takes its time."""

    def predict(self, batch: np.ndarray) -> np.ndarray:
        time.sleep(0.02)
        return batch.sum(axis=1)


class Forks:
    """Forks a process that goes on when this one ends, as some loaders of data do."""

    def predict(self, batch: np.ndarray) -> np.ndarray:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        return batch.sum(axis=1)


class Hangs:
    """Answers once, then never."""

    def predict(self, batch: np.ndarray) -> np.ndarray:
        if batch[0, 0] < 0:
            time.sleep(600)
        return batch.sum(axis=1)


WAYS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "stage": ("stage_process", {}),
    "isolated": ("isolated_process", {"isolate": "process"}),
    "shared": ("shared_process", {"config": {"large_model": True}}),
}
"""Where a model runs: the module of its process, and what its node says."""


def stage_code(folder: Path, model: Any, **more: Any) -> StageCode:
    joblib.dump(model, folder / "model.joblib")
    node = {"model": "sklearn", "uri": "model.joblib", "inputs": ["x"], "outputs": {"y": "double"}}
    nodes = {"n": node | more}
    file = {"ensemble": "e", "inputs": {"x": "array<double>[2]"}, "nodes": nodes, "outputs": ["y"]}
    graph = check_text(json.dumps(file), KINDS, Files(str(folder), (str(folder),), code=LIBRARY_CODE))
    inputs = tuple((name, name, type_) for name, type_ in graph.columns_read)
    return StageCode("e", graph.nodes, inputs, graph.outputs, ObjectRows((), ("y",)))


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the model, and for the sockets of shared ones, whose paths may not be long."""
    made = tempfile.mkdtemp(prefix="kills-", dir="/tmp")
    monkeypatch.setattr("tempfile.tempdir", made)
    yield Path(made)
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def load(folder: Path, forked_children: None, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads a stage in one of the ways; gives it, and what finds its processes."""
    updates: list[Update] = []
    monkeypatch.setattr(stage_processes, "write_metric", updates.append)

    def load(way: str, model: Any) -> tuple[Any, Callable[[], list[psutil.Process]]]:
        module, more = WAYS[way]
        code = stage_code(folder, model, **more)
        stage = (
            StageProcesses(code, 2, this_machine().cores).wait()
            if way == "stage"
            else LoadedStage(code, this_machine(), updates.append)
        )
        return stage, lambda: running(module, str(folder) if way == "shared" else "")

    return load


def running(module: str, word: str) -> list[psutil.Process]:
    """Returns the processes that run a module: of this one, or those with a word in their command."""
    found = psutil.process_iter(["cmdline"]) if word else psutil.Process().children(recursive=True)
    return [one for one in found if module[:NAME] in (line := command_of(one)) and word in line]


def command_of(process: psutil.Process) -> str:
    """Returns the command of a process; a forked one has only a name, which the kernel cuts off."""
    try:
        return " ".join([process.name()[:NAME], *process.cmdline()])
    except psutil.Error:  # it has just ended
        return ""


def scored(stage: Any, rows: int = ROWS) -> collections.Counter[str]:
    """Scores a batch; counts its rows by what became of them, all of which have to be there and right."""
    x = np.random.default_rng().random((rows, 2))
    batch = ColumnBatch(np.arange(rows), {})
    batch.add({"x": x})
    try:
        stage.run(batch)
    except EnsembleError as error:
        if not DIED.search(str(error)):
            raise
        return collections.Counter(bundles_failed=1)
    failed = [failure.index for failure in batch.failures]
    assert sorted([*batch.rows.tolist(), *failed]) == list(range(rows))
    assert {failure.error.code for failure in batch.failures} <= {"process_died"}  # type: ignore[attr-defined]
    if len(batch):
        np.testing.assert_array_equal(batch.columns["y"], x.sum(axis=1)[batch.rows])
    return collections.Counter(scored=len(batch), failed=len(failed))


@pytest.mark.fuzz
@pytest.mark.parametrize("way", WAYS)
def test_every_row_comes_out_once_whenever_processes_are_killed(load: Load, way: str) -> None:
    stage, processes = load(way, Slow())
    killed: list[int] = []
    done = threading.Event()

    def kill() -> None:
        while len(killed) < KILLS and not done.wait(random.uniform(0, 0.5)):
            for victim in random.sample(found, 1) if (found := processes()) else ():
                victim.kill()
                killed.append(victim.pid)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    came: collections.Counter[str] = collections.Counter()
    batches = 0
    while killer.is_alive():
        came += scored(stage)
        batches += 1
    killer.join()
    assert len(killed) == KILLS
    bundles = batches - came.pop("bundles_failed", 0)
    assert came.total() == ROWS * bundles
    assert scored(stage) == {"scored": ROWS, "failed": 0}, "it goes on"


@pytest.mark.parametrize("way", WAYS)
def test_nobody_waits_for_a_process_that_is_gone_whatever_its_model_has_forked(load: Load, way: str) -> None:
    stage, processes = load(way, Forks())
    assert scored(stage)["scored"] == ROWS
    forked = forked_by_models(processes())
    assert forked
    for process in set(processes()) - set(forked):
        process.kill()
    try:
        assert scored(stage)["scored"] == ROWS
    finally:
        for process in [*forked, *forked_by_models(processes())]:
            process.kill()


def forked_by_models(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [child for process in processes for child in process.children()]


INTERRUPTED: Final = """
import os, signal, sys, threading
from pathlib import Path
import numpy as np
from tests.security.test_kills import ColumnBatch, Hangs, StageProcesses, stage_code, this_machine
stage = StageProcesses(stage_code(Path(sys.argv[1]), Hangs()), 2, this_machine().cores).wait()
batch = ColumnBatch(np.arange(100), {})
batch.add({"x": np.full((100, 2), -1.0)})
"""
WHILE_IT_WAITS: Final = """
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
stage.run(batch)
"""
WHILE_ITS_THREADS_START: Final = """
class Interrupted(threading.Thread):
    def start(self):
        super().start()
        raise KeyboardInterrupt
threading.Thread = Interrupted
stage.run(batch)
"""


@pytest.mark.parametrize("when", [WHILE_IT_WAITS, WHILE_ITS_THREADS_START])
def test_an_interruption_waits_for_no_model_that_hangs(folder: Path, when: str) -> None:
    done = run_script(INTERRUPTED + when, folder)
    _, said = done.communicate(timeout=SECONDS)
    assert done.returncode == -signal.SIGINT
    assert said.endswith("KeyboardInterrupt\n")


def run_script(script: str, folder: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", script, str(folder)], env=env, **pipes)


WORKER: Final = """
import sys, tempfile
from pathlib import Path
import numpy as np
from tests.security.test_kills import ColumnBatch, Hangs, StageProcesses, WAYS, stage_code, this_machine
folder = Path(sys.argv[1])
stage = StageProcesses(stage_code(folder, Hangs(), **WAYS["isolated"][1]), 1, this_machine().cores).wait()
batch = ColumnBatch(np.arange(1), {})
batch.add({"x": np.full((1, 2), -1.0)})
print("hangs", flush=True)
stage.run(batch)
"""


def test_processes_whose_models_hang_end_with_their_worker(folder: Path) -> None:
    """The worker waits for the process of its stage, which waits for that of a node."""
    with run_script(WORKER, folder) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "hangs\n"
        time.sleep(0.5)
        processes = psutil.Process(worker.pid).children(recursive=True)
        assert len(processes) == 2
        worker.kill()
    _, left = psutil.wait_procs(processes, timeout=SECONDS)
    assert not left
