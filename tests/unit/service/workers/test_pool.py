"""How workers are started, and which requests for one are refused."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, cast

import grpc
import pytest
from apache_beam.portability.api import (
    beam_fn_api_pb2,
    beam_provision_api_pb2,
    beam_provision_api_pb2_grpc,
)

from beam_ensembles.processes.fork_client import OwnForkServer
from beam_ensembles_service.workers import pool as worker_pool
from beam_ensembles_service.workers.pool import LostWorker, WorkerPool
from tests.support.patience import SECONDS


class Call:
    """A call from somewhere, as gRPC names it."""

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def peer(self) -> str:
        return self._peer


class Process:
    """A process that has ended before anyone asks."""

    pid = 7
    stdin = None

    def poll(self) -> int:
        return 0

    def wait(self, timeout: float | None = None) -> int:
        return 0

    def terminate(self) -> None:
        """Nothing is left to end."""


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Collects the commands of workers instead of starting them."""
    commands: list[list[str]] = []

    def spawn(command: list[str], environment: Any) -> Process:
        commands.append(command)
        return Process()

    monkeypatch.setattr(worker_pool, "_spawn", spawn)
    return commands


def _start(pool: WorkerPool, peer: str) -> str:
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id="w")
    request.control_endpoint.url = "runner:1"
    call: Any = Call(peer)
    return str(pool.StartWorker(request, call).error)


def test_a_runner_gets_a_worker_that_connects_to_it(spawned: list[list[str]]) -> None:
    assert not _start(WorkerPool(), "ipv4:127.0.0.1:5")
    (command,) = spawned
    assert command[command.index("--control") + 1] == "runner:1"


@pytest.mark.parametrize(
    ("worker_id", "control", "said"),
    [
        ("w\n2026 ERROR forged", "runner:1", "a worker's id must be at most 1,000 printable characters"),
        ("w\x1b[2J", "runner:1", "a worker's id must be at most 1,000 printable characters"),
        ("w" * 1_001, "runner:1", "a worker's id must be at most 1,000 printable characters"),
        ("w", "", "the request names no control endpoint"),
        ("w", "runner", "the control endpoint must be HOST:PORT, not 'runner'"),
        ("w", "runner:65536", "the control endpoint must be HOST:PORT, not 'runner:65536'"),
        ("w", "--help:1", "the control endpoint must be HOST:PORT, not '--help:1'"),
        ("w", "unix:/run/docker.sock", "the control endpoint must be HOST:PORT, not 'unix:/run/docker.sock'"),
        ("w", "a:1\nb", r"the control endpoint must be HOST:PORT, not 'a:1\nb'"),
    ],
)
def test_a_request_that_is_none_is_refused(
    worker_id: str, control: str, said: str, spawned: list[list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id=worker_id)
    request.control_endpoint.url = control
    call: Any = Call("ipv4:127.0.0.1:5")
    assert WorkerPool().StartWorker(request, call).error == said
    assert not spawned
    (record,) = caplog.records
    assert record.getMessage().isprintable()
    assert len(record.getMessage()) < 400


@pytest.mark.parametrize("kind", ["logging", "provision", "artifact"])
def test_other_endpoints_are_checked_too(kind: str, spawned: list[list[str]]) -> None:
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id="w")
    request.control_endpoint.url = "[::1]:1"
    getattr(request, f"{kind}_endpoint").url = "file:///etc/passwd"
    call: Any = Call("ipv4:127.0.0.1:5")
    said = f"the {kind} endpoint must be HOST:PORT, not 'file:///etc/passwd'"
    assert WorkerPool().StartWorker(request, call).error == said
    assert not spawned


def test_there_are_no_more_workers_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "input()"]

    def spawn(_: list[str], environment: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdin=subprocess.PIPE)

    monkeypatch.setattr(worker_pool, "_spawn", spawn)
    pool = WorkerPool(max_workers=2)
    try:
        assert [_start(pool, "ipv4:127.0.0.1:5") for _ in range(3)] == [
            "",
            "",
            "there are 2 workers already (--max-workers allows more)",
        ]
    finally:
        pool.stop()


class Provision(beam_provision_api_pb2_grpc.ProvisionServiceServicer):
    """A runner's, which has some files for a worker of a pipeline with files."""

    def __init__(self, files: int) -> None:
        self._files = files

    def GetProvisionInfo(self, request: Any, context: Any) -> Any:
        info = beam_provision_api_pb2.ProvisionInfo(retrieval_token="of the whole job")
        for _ in range(self._files):
            info.dependencies.add()
        return beam_provision_api_pb2.GetProvisionInfoResponse(info=info)


@pytest.mark.parametrize(("files", "program"), [(0, sys.executable), (1, "/opt/boot")])
def test_boot_is_for_workers_that_get_files(files: int, program: str, spawned: list[list[str]]) -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    beam_provision_api_pb2_grpc.add_ProvisionServiceServicer_to_server(Provision(files), server)
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id="w")
    request.control_endpoint.url = "runner:1"
    request.provision_endpoint.url = f"localhost:{server.add_insecure_port('localhost:0')}"
    server.start()
    call: Any = Call("unix:/s")
    assert not WorkerPool(boot_program="/opt/boot").StartWorker(request, call).error
    server.stop(None).wait()
    assert [command[0] for command in spawned] == [program]


def test_a_worker_that_was_killed_is_told_of_though_its_runner_stops_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as worker:
        monkeypatch.setattr(worker_pool, "_spawn", lambda command, environment: worker)
        lost: SimpleQueue[LostWorker] = SimpleQueue()
        pool, call = WorkerPool(on_lost=lost.put), Call("unix:/s")
        assert not _start(pool, "unix:/s")
        worker.kill()
        worker.wait(SECONDS)
        pool.StopWorker(beam_fn_api_pb2.StopWorkerRequest(worker_id="w"), cast(Any, call))
        assert lost.get(timeout=SECONDS).how == "exit code -9"
    assert f"worker 'w' (process {worker.pid}) ended with exit code -9" in caplog.text


class GoneForkServer(OwnForkServer):
    """One that has died."""

    is_gone = True

    def __init__(self) -> None:
        """Starts nothing."""

    def start(self, *_: Any) -> None:
        """Cannot."""


def test_where_the_fork_server_is_gone_a_worker_imports_beam_and_there_is_another_for_the_next(
    monkeypatch: pytest.MonkeyPatch, spawned: list[list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    started: list[GoneForkServer] = []
    monkeypatch.setattr(
        worker_pool, "start_fork_server", lambda environment: started.append(GoneForkServer()) or started[-1]
    )
    pool = WorkerPool(fork_server=GoneForkServer())
    for count in (1, 2):
        assert not _start(pool, "unix:/s")
        assert len(started) == count
    assert [command[3] for command in spawned] == ["beam_ensembles_service.workers.worker"] * 2
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert said == ["worker 'w' could not be forked: it starts more slowly"] * 2


def test_none_is_started_once_the_service_stops(spawned: list[list[str]]) -> None:
    pool = WorkerPool()
    pool.stop()
    assert _start(pool, "unix:/s") == "the service is stopping"
    assert not spawned
