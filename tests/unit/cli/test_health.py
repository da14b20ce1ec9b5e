"""``beam-ensembles health`` against a server's own health."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from beam_ensembles.cli.main import main
from tests.support.ports import free_ports


@pytest.fixture
def asked() -> Iterator[tuple[health.HealthServicer, str]]:
    """The health of a server that answers, and its address."""
    server = grpc.server(futures.ThreadPoolExecutor(2))
    servicer = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, f"127.0.0.1:{port}"
    server.stop(None).wait()


def test_a_service_that_serves(
    asked: tuple[health.HealthServicer, str], capsys: pytest.CaptureFixture[str]
) -> None:
    servicer, address = asked
    servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    assert main(["health", address]) == 0
    assert capsys.readouterr().out == f"{address} SERVING\n"


def test_a_service_that_ends(
    asked: tuple[health.HealthServicer, str], capsys: pytest.CaptureFixture[str]
) -> None:
    servicer, address = asked
    servicer.enter_graceful_shutdown()
    assert main(["health", address]) == 1
    assert capsys.readouterr().out == f"{address} NOT_SERVING\n"


def test_nobody_there(capsys: pytest.CaptureFixture[str]) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    assert main(["health", address, "--timeout", "0.5"]) == 1
    assert capsys.readouterr().err == (
        f"beam-ensembles health: nothing listens at {address}; start a service there with 'beam-ensembles serve'\n"
    )


def test_one_who_takes_calls_and_never_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["health", address, "--timeout", "0.5"]) == 1
    assert f"{address} does not answer: DEADLINE_EXCEEDED: " in capsys.readouterr().err


def test_a_status_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    def check(*_: object) -> bytes:
        return b"\x08\x63"

    server = grpc.server(futures.ThreadPoolExecutor(1))
    handler = grpc.unary_unary_rpc_method_handler(check)
    service = grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": handler})
    server.add_generic_rpc_handlers((service,))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        assert main(["health", address]) == 1
    finally:
        server.stop(None)
    assert capsys.readouterr().out == f"{address} 99\n"
