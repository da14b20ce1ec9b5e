"""Processes are killed in the middle of a bundle on Prism, which runs no bundle again.

A job whose worker is gone fails and says so: it never ends well with fewer rows. A job that ends well has each row
once, whatever was killed beside the worker.
"""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.patience import SECONDS, wait_until
from tests.support.prism import running_prism
from tests.support.service import RunningService, running_service

ROWS = 6_000
SCRIPT = Path(__file__).with_name("paced_rows.py")
ENSEMBLE = """\
ensemble: e
inputs: {x: double}
nodes:
  n: {apply: python, function: numpy.nan_to_num, inputs: [x], outputs: {y: double}, isolate: process, \
batch: {max: 20}}
"""
# Beam 2.77's Python client occasionally hangs on a job that Prism has ended.
pytestmark = [
    pytest.mark.timeout(3 * SECONDS),
    pytest.mark.flaky(reruns=1, only_rerun=["TimeoutExpired"]),
]


@pytest.fixture(scope="module")
def flags(service: RunningService) -> Iterator[list[str]]:
    """What a pipeline is told: Prism, with workers of the service."""
    with running_prism() as address:
        worker = ["--environment_type=EXTERNAL", f"--environment_config={service.address}"]
        yield ["--runner=PortableRunner", f"--job_endpoint={address}", *worker]


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service("--serve-loopback-worker") as running:
        yield running


@contextlib.contextmanager
def job(folder: Path, flags: list[str]) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """Runs the pipeline; gives its client and the worker, once that has begun."""
    (folder / "e.yaml").write_text(ENSEMBLE)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, SCRIPT, folder, str(ROWS), *flags]
    with subprocess.Popen(command, env=env, **pipes) as client:
        try:
            wait_until(lambda: bool(list(folder.glob("seen-*"))))
            (seen,) = folder.glob("seen-*")
            yield client, psutil.Process(int(seen.name.partition("-")[2]))
        finally:
            client.kill()


def rows_out(folder: Path) -> collections.Counter[float]:
    """Counts how often each row came out, scored or as an error."""
    lines = [line for file in folder.glob("out-*") for line in file.read_text().splitlines()]
    return collections.Counter(float(line.split()[0]) for line in lines)


@pytest.mark.parametrize("victim", ["worker", "fork server", "its successor"])
def test_a_job_whose_worker_is_gone_fails_and_says_so(
    victim: str, flags: list[str], service: RunningService, tmp_path: Path
) -> None:
    with job(tmp_path, flags) as (client, worker):
        forked = worker.name().startswith("worker")
        killed = worker.parent() if victim != "worker" and forked else worker
        assert killed is not None
        assert killed.pid != service.process.pid
        time.sleep(0.5)
        os.kill(killed.pid, signal.SIGKILL)
        said, _ = client.communicate(timeout=SECONDS)
    assert client.returncode == 1
    assert "DONE" not in said
    assert "failed in state FAILED" in said
    assert "SDK worker disconnected" in said
    assert set(rows_out(tmp_path).values()) <= {1}


def test_each_row_comes_out_once_however_often_the_process_of_a_node_is_killed(
    flags: list[str], tmp_path: Path
) -> None:
    killed = set()
    with job(tmp_path, flags) as (client, worker):
        ends = time.monotonic() + SECONDS
        while client.poll() is None and time.monotonic() < ends:
            for child in nodes_of(worker):
                if len(killed) < 4:
                    child.kill()
                    killed.add(child.pid)
            time.sleep(0.3)
        said, _ = client.communicate(timeout=SECONDS)
    assert "DONE" in said, said
    assert killed
    assert rows_out(tmp_path) == {float(number): 1 for number in range(ROWS)}


def nodes_of(worker: psutil.Process) -> list[psutil.Process]:
    """Returns the processes of nodes: forked beside the worker, or started by it."""
    with contextlib.suppress(psutil.Error):
        beside = worker.parent().children() if worker.name().startswith("worker") else []
        return [one for one in [*beside, *worker.children()] if is_node(one)]
    return []


def is_node(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.name().startswith("isolated_proces") or "isolated_process" in " ".join(
            process.cmdline()
        )
    return False
