"""A runner that does not notice that its worker is gone is ended; one that does is left alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from beam_ensembles_service.callers.listeners import Runner, identity, is_listening, process_on
from beam_ensembles_service.workers import boot
from beam_ensembles_service.workers.pool import LostWorker
from beam_ensembles_service.workers.supervisor import Supervisor
from tests.support.patience import SECONDS

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/net"), reason="needs Linux's /proc")

RUNNER = """
import socket, sys, threading
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
listening.close()
threading.Event().wait()
"""
"""Listens until its standard input ends, and lives on."""
BOOT = """
import subprocess, sys, time
python = "import sys; sys.stdin.read()"
subprocess.run([sys.executable, "-c", python, "apache_beam.runners.worker.sdk_worker_main"])
time.sleep(float(sys.argv[1]))
"""
"""Starts a Python that lives until standard input ends."""


@pytest.fixture
def runner() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        yield process
        process.kill()


def runner_with(process: subprocess.Popen[str]) -> Runner:
    return Runner(identity(process.pid))


def control_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return f"localhost:{int(process.stdout.readline())}"


def test_a_listener_is_found_by_its_port(runner: subprocess.Popen[str]) -> None:
    control = control_of(runner)
    assert is_listening(control)
    assert process_on(control) == runner.pid
    runner.kill()
    runner.wait()
    assert not is_listening(control)
    assert process_on(control) is None
    assert process_on("localhost:none") is None


def test_a_runner_that_hangs_is_ended(
    runner: subprocess.Popen[str], caplog: pytest.LogCaptureFixture
) -> None:
    control, hanging = control_of(runner), list[bool]()
    Supervisor(0.1, hanging.append).lost(LostWorker("w", control, runner_with(runner), "exit code -9"))
    assert runner.wait(SECONDS) != 0
    assert hanging == [True, False]
    assert (
        f"waits for worker 'w', which is gone (exit code -9): ending its process {runner.pid}" in caplog.text
    )


def test_a_runner_that_notices_is_left_alone(runner: subprocess.Popen[str]) -> None:
    control, hanging = control_of(runner), list[bool]()
    assert runner.stdin is not None
    threading.Timer(0.5, runner.stdin.close).start()
    Supervisor(SECONDS, hanging.append).lost(LostWorker("w", control, runner_with(runner), "exit code -9"))
    assert runner.poll() is None
    assert not hanging


def test_whoever_did_not_ask_for_the_worker_is_left_alone(
    runner: subprocess.Popen[str], caplog: pytest.LogCaptureFixture
) -> None:
    control, hanging = control_of(runner), list[bool]()
    Supervisor(0.1, hanging.append).lost(LostWorker("w", control, None, "exit code -9"))
    assert runner.poll() is None
    assert not hanging
    assert f"whoever asked for worker 'w' does not listen at {control} itself" in caplog.text


def test_a_process_that_has_the_number_of_a_runner_that_ended_is_left_alone(
    runner: subprocess.Popen[str],
) -> None:
    control, ended = control_of(runner), Runner(f"{runner.pid} of 1 of another start")
    Supervisor(0.1).lost(LostWorker("w", control, ended, "exit code -9"))
    assert runner.poll() is None


def test_a_runner_that_cannot_be_ended_is_told_by_the_health(caplog: pytest.LogCaptureFixture) -> None:
    """In a pod it is a process that the supervisor does not see."""
    hangs, hanging = threading.Event(), list[bool]()

    def say(does: bool) -> None:
        hanging.append(does)
        if does:
            hangs.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        worker = LostWorker("w", f"localhost:{listening.getsockname()[1]}", Runner(None), "exit code -9")
        supervising = threading.Thread(target=Supervisor(0.1, say).lost, args=(worker,))
        supervising.start()
        assert hangs.wait(SECONDS)
        assert hanging == [True]
    supervising.join(SECONDS)
    assert hanging == [True, False]
    assert "its process cannot be seen from here" in caplog.text


@pytest.mark.parametrize(("goes_on", "lost"), [("3600", True), ("0", False)])
def test_a_python_is_lost_when_boot_goes_on_without_it(
    goes_on: str, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", BOOT, goes_on], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        end_python, look = process.stdin.close, boot._pythons

        def end_once_seen(parent: int) -> set[int]:
            if found := look(parent):
                end_python()
            return found

        monkeypatch.setattr(boot, "_pythons", end_once_seen)
        assert boot.lost_python(process) == lost
        process.kill()
