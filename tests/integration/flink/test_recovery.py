"""Something is killed in the middle of a job: it goes on, and every row comes out once, scored or as an error."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles.metrics.job_server import JobServer
from beam_ensembles_service.callers.listeners import process_on
from scripts.flink.workers import pool_command, pool_environment
from scripts.layout import PYTHON
from scripts.members import DIGITS, HELDOUT
from scripts.pipelines import Servers, portable
from scripts.processes import address, free_ports, running
from scripts.shell import log_path, tail
from tests.support.flink import Flink
from tests.support.patience import wait_until

SECONDS = 900
"""How long a job may take that runs twice, on a machine that has much else to do."""
CLIENT_SECONDS = 180
"""How long Beam's client may take to end once its job has."""
# Sometimes Beam 2.77's Python client waits forever for a job that Flink has ended, as for one of Prism's.
pytestmark = [
    pytest.mark.timeout(2 * SECONDS),
    pytest.mark.flaky(reruns=1, only_rerun=["ClientHangs"]),
]
PIPELINE = Path(__file__).with_name("paced.py")
BROKEN = 7
"""Of every hundred ids, the one whose row ends in the error output."""
HANGING = (
    # All rows lie in Flink before the first one is sent: else it may wait for the step before, whose loss it notices.
    "--parallelism=1", "--execution_mode_for_batch=BATCH_FORCED",
    # After every hundredth block the runner looks whether the worker can take more: here each row is a block.
    "--padding=100000", "--experiments=data_buffer_size_limit=100000",
    "--rows=50", "--seconds=0.5",
)  # fmt: skip
"""Of a job most of whose rows cannot be on their way to the worker at one time."""
WAITS = ("Phaser.awaitAdvance", "DirectStreamObserver.onNext")
"""In the stack of Flink's task while it waits until the worker takes more."""


@pytest.fixture(autouse=True)
def _whole(flink: Flink) -> None:
    """The cluster has all its task managers."""
    flink.cluster.replace_dead_task_managers()


class ClientHangs(Exception):
    """Beam's client still waits for a job that has ended well."""


class Job:
    """The pipeline while it runs.

    Args:
        flink: The cluster.
        at: Where it runs: that cluster, with these workers.
        folder: An empty folder for what it writes.
        copies: How often each image goes through it.
        flags: Others of its flags.
    """

    def __init__(self, flink: Flink, at: Servers, folder: Path, copies: int, *flags: str) -> None:
        self._flink, self._folder, self._copies = flink, folder, copies
        self._progress = folder / "progress"
        self._progress.mkdir()
        self._victims: set[int] = set()
        self._log = log_path(f"flink-{folder.name}")
        files = [f"--images={HELDOUT}", f"--progress={self._progress}", f"--output={folder / 'lines'}"]
        # Ended with SIGABRT it says where each of its threads is.
        python = [PYTHON, "-X", "faulthandler"]
        self._command = [*python, PIPELINE, *files, f"--copies={copies}", *flags, *portable(at)]

    @contextlib.contextmanager
    def until_done(self) -> Iterator[None]:
        """Runs it; waits at the end of the block until it has ended well."""
        with running(self._command, log=self._log) as self._process:
            yield
            self.wait()

    def wait(self) -> None:
        """Waits until it has ended well, and its client with it.

        Raises:
            ClientHangs: The client does not end.
        """
        deadline = time.monotonic() + SECONDS
        while self._process.poll() is None:
            assert time.monotonic() < deadline, f"the job does not end:\n{self._flink.what_it_does()}"
            if any(job["state"] == "FINISHED" for job in self._flink.cluster.rest.jobs()[-1:]):
                self._wait_for_client()
            time.sleep(0.5)
        assert self._process.returncode == 0, tail(self._log)

    def _wait_for_client(self) -> None:
        try:
            self._process.wait(CLIENT_SECONDS)
        except subprocess.TimeoutExpired:
            with JobServer(self._flink.cluster.job_server) as server:
                state = server.jobs()[-1].state
            self._process.send_signal(signal.SIGABRT)
            self._process.wait()
            said = f"Flink has ended the job, its job server says {state}, but its client waits:"
            raise ClientHangs(f"{said}\n{tail(self._log, 100)}") from None

    def worker_that_saw(self, rows: int) -> int:
        """Waits until a worker has seen so many rows, with more to come; gives its process, each once."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            assert self._process.poll() is None, tail(self._log)
            seen = {int(file.name): int(file.read_text() or 0) for file in self._progress.iterdir()}
            for worker, count in seen.items():
                new = worker not in self._victims and Path("/proc", str(worker)).exists()
                if new and rows <= count <= 5 * rows:
                    self._victims.add(worker)
                    return worker
            time.sleep(0.1)
        raise AssertionError(f"no worker has seen {rows} rows; {tail(self._log)}")

    def assert_every_row_came_out_once(self) -> None:
        """Compares what it wrote with what went in."""
        parts = self._folder.glob("lines-*")
        lines = [line.split() for part in parts for line in part.read_text().splitlines()]
        ids = {copy * 1_000 + at for copy in range(self._copies) for at in range(DIGITS.scored)}
        assert Counter(int(line[0]) for line in lines) == Counter(ids)
        assert {int(line[0]) for line in lines if line[1:] == ["error", "wrong_length"]} == {
            number for number in ids if number % 100 == BROKEN
        }


def manager_of(worker: int, log: Path) -> int:
    """Returns the process of the task manager that a worker works for, as the log of its pool says."""
    started = re.search(rf"\(process {worker}\) for (\S+)", log.read_text())
    assert started, tail(log)
    manager = process_on(started[1])
    assert manager is not None
    return manager


def have_flink_wait(flink: Flink, worker: int) -> None:
    """Stops a worker until it is killed; waits until Flink waits for it to take more rows."""
    os.kill(worker, signal.SIGSTOP)
    deadline = time.monotonic() + SECONDS
    while not any(all(frame in stack for frame in WAITS) for stack in flink.cluster.rest.stacks()):
        assert time.monotonic() < deadline, "Flink does not wait for the worker"
        time.sleep(0.2)


@contextlib.contextmanager
def failing(flink: Flink) -> Iterator[None]:
    """Waits at the end of the block until the newest job had to be run again."""
    job = flink.cluster.rest.jobs()[-1]["jid"]
    before = len(flink.cluster.rest.failures(job))
    yield
    wait_until(lambda: len(flink.cluster.rest.failures(job)) > before, flink.what_it_does)


def assert_it_was_run_again(flink: Flink, times: int) -> None:
    """Looks at the newest job: it had to be run again so often, or more, and ended well."""
    job = flink.cluster.rest.jobs()[-1]
    assert job["state"] == "FINISHED"
    assert len(flink.cluster.rest.failures(job["jid"])) >= times


def test_workers_and_a_task_manager_are_killed_while_they_score(
    flink: Flink, on_flink: Servers, tmp_path: Path
) -> None:
    """One after the other in one job; with what a worker was forked from all other workers of the pool end, too."""
    job = Job(flink, on_flink, tmp_path, 12, "--parallelism=2", "--rows=250", "--seconds=0.4")
    with job.until_done():
        worker = job.worker_that_saw(500)
        with failing(flink):
            os.kill(worker, signal.SIGKILL)
        worker = job.worker_that_saw(500)
        with failing(flink):
            os.kill(parent_of(worker), signal.SIGKILL)
        manager = manager_of(job.worker_that_saw(500), flink.workers_log)
        assert manager in {program.process.pid for program in flink.cluster.task_managers}
        os.kill(manager, signal.SIGKILL)
    job.assert_every_row_came_out_once()
    assert_it_was_run_again(flink, 3)


def parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition("PPid:")[2].split()[0])


@contextlib.contextmanager
def pool_with(state: Path, port: int) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Runs a pool of its own with a folder that the next one gets too; gives its process and its log."""
    log = log_path("flink-tests-own-workers")
    command = pool_command(port, f"--state={state}")
    with running(command, log=log, env=pool_environment()) as process:
        address(process, re.compile(r"workers on (\S+:\d+)"), log)
        yield process, log


def test_flink_would_wait_for_ever(flink: Flink, on_flink: Servers, tmp_path: Path) -> None:
    """For a worker that is killed, and then for one that is killed with its pool.

    Nobody is left then who could have told Flink; the next pool finds what the first one noted.
    """
    (port,) = free_ports(1)
    at = dataclasses.replace(on_flink, workers=f"localhost:{port}")
    state, folder = tmp_path / "state", tmp_path / "job"
    folder.mkdir()
    with pool_with(state, port) as (pool, log):
        job = Job(flink, at, folder, 3, *HANGING)
        with job.until_done(), contextlib.ExitStack() as later:
            worker = job.worker_that_saw(100)
            first = manager_of(worker, log)
            have_flink_wait(flink, worker)
            with failing(flink):
                os.kill(worker, signal.SIGKILL)
            assert f"ending its process {first}" in log.read_text()
            worker = job.worker_that_saw(100)
            second = manager_of(worker, log)
            have_flink_wait(flink, worker)
            pool.kill()
            pool.wait()
            # Stopped, it does not see that its pool is gone.
            os.kill(worker, signal.SIGKILL)
            flink.cluster.replace_dead_task_managers()
            _, log = later.enter_context(pool_with(state, port))
            job.wait()
            said = log.read_text()
    job.assert_every_row_came_out_once()
    assert_it_was_run_again(flink, 2)
    assert "which is gone (with the pool that had started it): ending its process" in said
    assert f"ending its process {second}" in said
