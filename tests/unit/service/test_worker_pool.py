"""Who may have workers started."""

from __future__ import annotations

from typing import Any

import pytest
from apache_beam.portability.api import beam_fn_api_pb2

from beam_ensembles_service import worker_pool
from beam_ensembles_service.worker_pool import WorkerPool


class Call:
    """A call from somewhere, as gRPC names it."""

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def peer(self) -> str:
        return self._peer


class Process:
    """Has ended before anyone asks."""

    pid = 7
    stdin = None

    def wait(self, timeout: float | None = None) -> int:
        return 0

    def terminate(self) -> None:
        """Nothing is left to end."""


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Collects the commands of workers instead of starting them."""
    commands: list[list[str]] = []

    def spawn(command: list[str], worker_id: str) -> Process:
        commands.append(command)
        return Process()

    monkeypatch.setattr(worker_pool, "_spawn", spawn)
    return commands


def _start(pool: WorkerPool, peer: str) -> str:
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id="w")
    request.control_endpoint.url = "runner:1"
    call: Any = Call(peer)
    return str(pool.StartWorker(request, call).error)


@pytest.mark.parametrize(
    "peer", ["ipv4:127.0.0.1:5", "ipv6:[::1]:5", "ipv6:%5B::1%5D:5", "ipv6:[::ffff:127.0.0.1]:5", "unix:/s"]
)
def test_runners_of_this_machine_get_workers(peer: str, spawned: list[list[str]]) -> None:
    assert not _start(WorkerPool(), peer)
    (command,) = spawned
    assert command[command.index("--control") + 1] == "runner:1"


@pytest.mark.parametrize("peer", ["ipv4:10.1.2.3:5", "ipv6:[2001:db8::1]:5", "ipv4:12.7.0.0:127", ""])
def test_others_get_none(peer: str, spawned: list[list[str]]) -> None:
    assert "on the service's own machine" in _start(WorkerPool(), peer)
    call: Any = Call(peer)
    assert WorkerPool().StopWorker(beam_fn_api_pb2.StopWorkerRequest(worker_id="w"), call).error
    assert not spawned


def test_none_is_started_once_the_service_stops(spawned: list[list[str]]) -> None:
    pool = WorkerPool()
    pool.stop()
    assert _start(pool, "unix:/s") == "the service is stopping"
    assert not spawned
