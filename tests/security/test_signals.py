"""A caller names somebody else's port as the one where it waits for a worker: whoever listens there is left alone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles_service.callers.listeners import (
    Runner,
    identity,
    process_on,
    runner_of,
    signal_process,
)
from tests.support.callers import NOBODY
from tests.support.patience import SECONDS, wait_until
from tests.support.processes import children
from tests.support.runners import MODULE, ask

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/net"), reason="needs Linux's /proc")
VICTIM = """
import socket, threading
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
threading.Event().wait()
"""
SERVE = ["-m", "beam_ensembles.cli.main", "workers", "--port=0", "--stop-with-stdin"]
FLAGS = ["--when-a-worker-dies=stop-runner", "--notice-seconds=0.5"]


@contextlib.contextmanager
def process(*words: str, log: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs a program; gives it with the last word of the first line that it prints."""
    with contextlib.ExitStack() as opened:
        stderr = None if log is None else opened.enter_context(log.open("a"))
        command, pipe = [sys.executable, *words], subprocess.PIPE
        running = opened.enter_context(
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, text=True)
        )
        opened.callback(running.kill)
        assert running.stdout is not None
        yield running, running.stdout.readline().split()[-1]


def kill_its_worker(workers: subprocess.Popen[str]) -> None:
    (fork_server,) = children(workers.pid)
    wait_until(lambda: bool(children(fork_server)))
    for worker in children(fork_server):
        os.kill(worker, signal.SIGKILL)


def test_only_the_process_that_asked_for_the_worker_and_waits_for_it_is_ended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with process(*SERVE, *FLAGS, log=log) as (workers, pool), process("-c", VICTIM) as (victim, port):
        assert not ask(pool, f"localhost:{port}")
        kill_its_worker(workers)
        said = f"whoever asked for worker 'w' does not listen at localhost:{port} itself"
        wait_until(lambda: said in log.read_text())
        with process("-m", MODULE, pool) as (runner, _):
            kill_its_worker(workers)
            assert runner.wait(SECONDS) == -signal.SIGTERM
        assert victim.poll() is None


def test_a_runner_is_known_by_its_connection_and_its_port() -> None:
    """All four sockets are this process's own, in a child its listener alone."""
    with socket.create_server(("127.0.0.1", 0)) as pool, socket.create_server(("127.0.0.1", 0)) as control:
        at, port = control.getsockname()[1], pool.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as caller, process("-c", VICTIM) as (_, others):
            peer = f"ipv4:127.0.0.1:{caller.getsockname()[1]}"
            assert runner_of(peer, port, f"localhost:{at}") == Runner(identity(os.getpid()))
            assert runner_of(peer, port, f"127.0.0.1:{at}")
            assert runner_of(peer, port, f"localhost:{others}") is None
            for elsewhere in (f"127.0.0.2:{at}", f"192.0.2.1:{at}", f"[::1]:{at}", "localhost:1", "", "x:y"):
                assert runner_of(peer, port, elsewhere) is None
                assert process_on(elsewhere) is None
            assert runner_of("ipv4:127.0.0.1:1", port, f"localhost:{at}") is None
        assert runner_of(peer, port, f"localhost:{at}") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can open sockets as another user")
def test_a_process_that_was_handed_another_users_sockets_is_no_runner() -> None:
    """Some daemons take open files from every user."""
    with contextlib.ExitStack() as opened:
        pool = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        os.seteuid(NOBODY)
        try:
            control = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
            caller = opened.enter_context(socket.create_connection(pool.getsockname()))
        finally:
            os.seteuid(0)
        opened.enter_context(pool.accept()[0])
        peer, at = f"ipv4:127.0.0.1:{caller.getsockname()[1]}", f"127.0.0.1:{control.getsockname()[1]}"
        assert runner_of(peer, pool.getsockname()[1], at) is None


def test_a_process_that_has_the_number_of_one_that_ended_gets_no_signal() -> None:
    with process("-c", VICTIM) as (victim, _):
        _, _, rest = (identity(victim.pid) or "").partition(" of ")
        with pytest.raises(ProcessLookupError):
            signal_process(f"{victim.pid} of 1{rest}", signal.SIGKILL)
        assert victim.poll() is None
        signal_process(f"{victim.pid} of {rest}", signal.SIGKILL)
        assert victim.wait(SECONDS) == -signal.SIGKILL
