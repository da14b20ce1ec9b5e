"""What a pool of workers finds of the one before it."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from beam_ensembles_service.callers.listeners import Runner, identity
from beam_ensembles_service.workers.pool import LostWorker, RunningWorker
from beam_ensembles_service.workers.state import RUNNER_HANGS, WORKERS, PoolState

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/net"), reason="needs Linux's /proc")
NOBODY = RunningWorker("w", "localhost:1", Runner(None))


def found(folder: Path) -> list[tuple[str, str]]:
    return [(worker.worker_id, worker.control) for worker in PoolState(str(folder)).left()]


def test_a_worker_whose_runner_is_still_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        worker = RunningWorker("w", f"localhost:{listening.getsockname()[1]}", Runner(identity(os.getpid())))
        PoolState(str(tmp_path)).started(worker, os.getpid())
        (left,) = PoolState(str(tmp_path)).left()
        assert left == LostWorker(
            worker.worker_id, worker.control, worker.runner, "with the pool that had started it"
        )
    assert found(tmp_path) == []


def test_a_worker_that_nobody_waits_for_is_forgotten(tmp_path: Path) -> None:
    state = PoolState(str(tmp_path))
    for _ in range(2):
        state.started(NOBODY, os.getpid())
    state.ended(NOBODY)
    assert found(tmp_path) == [("w", "localhost:1")]
    state.ended(NOBODY)
    assert found(tmp_path) == []


def test_a_worker_of_nobody_known_is_not_noted(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        worker = RunningWorker("w", f"localhost:{listening.getsockname()[1]}", None)
        PoolState(str(tmp_path)).started(worker, os.getpid())
    assert found(tmp_path) == []


def test_another_process_on_the_port_is_not_taken_for_the_runner(tmp_path: Path) -> None:
    listen = "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); "
    said = "print(s.getsockname()[1], flush=True); sys.stdin.read()"
    port = "0"
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", listen + said, port],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as runner:
            assert runner.stdout is not None
            port = runner.stdout.readline().strip()
            before = found(tmp_path)
            noted = RunningWorker("w", f"localhost:{port}", Runner(identity(runner.pid)))
            PoolState(str(tmp_path)).started(noted, runner.pid)
            runner.communicate()
    assert before == []


def test_a_worker_that_outlives_its_pool_is_told_from_a_later_process(tmp_path: Path) -> None:
    state = PoolState(str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        state.started(NOBODY, worker.pid)
        assert state.lives(NOBODY)
        worker.communicate(b"\n")
    assert not state.lives(NOBODY)
    noted = json.loads((tmp_path / WORKERS).read_text())
    noted[0]["process"] = f"{os.getpid()} of 1 of another start"
    (tmp_path / WORKERS).write_text(json.dumps(noted))
    later = PoolState(str(tmp_path))
    assert later.left()
    assert not later.lives(NOBODY)


def test_a_file_says_that_a_runner_hangs(tmp_path: Path) -> None:
    state = PoolState(str(tmp_path))
    state.hangs(True)
    assert (tmp_path / RUNNER_HANGS).exists()
    state.hangs(False)
    state.hangs(False)
    assert not (tmp_path / RUNNER_HANGS).exists()
    state.hangs(True)
    assert state.left() == ()
    assert not (tmp_path / RUNNER_HANGS).exists()


@pytest.mark.parametrize("text", ["", "7", '[{"worker": 1}]', "[3]"])
def test_a_file_of_something_else_is_none(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / WORKERS).write_text(text)
    with caplog.at_level(logging.WARNING):
        assert found(tmp_path) == []
    assert "was not written by a pool, and is not read" in caplog.text
