"""Callers that nobody knows yet, who send much: what the server holds of it meanwhile, and afterwards."""

from __future__ import annotations

import concurrent.futures
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any, Final

import grpc
import pytest
from apache_beam.portability.api import beam_artifact_api_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from beam_ensembles_service.callers import connections
from beam_ensembles_service.callers.connections import options
from beam_ensembles_service.callers.flags import Access
from beam_ensembles_service.health_service import Health
from beam_ensembles_service.requests import reading
from beam_ensembles_service.requests.admission import MOST_BYTES, Admission
from beam_ensembles_service.requests.artifacts import OfferedArtifacts
from beam_ensembles_service.requests.reading import MOST_READS
from beam_ensembles_service.settings import Limits
from tests.support.patience import SECONDS, wait_until

_CHECK: Final = "/grpc.health.v1.Health/Check"
_RESOLVE: Final = "/org.apache.beam.model.job_management.v1.ArtifactRetrievalService/ResolveArtifacts"
_REFLECT: Final = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
_WATCH: Final = "/grpc.health.v1.Health/Watch"
_Code = grpc.StatusCode


@pytest.mark.parametrize("sent", [b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
def test_a_connection_that_is_never_set_up_is_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HANDSHAKE_MILLISECONDS", 300)
    with _healthy() as port, socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(20.0)
        client.sendall(sent)
        while client.recv(1_024):
            pass


@contextlib.contextmanager
def _healthy() -> Iterator[int]:
    with concurrent.futures.ThreadPoolExecutor(128) as threads:
        server = grpc.server(
            threads,
            interceptors=[Admission(Limits())],
            options=options(Access()),
        )
        health_pb2_grpc.add_HealthServicer_to_server(Health(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield port
        server.stop(0).wait()


def test_the_oldest_of_many_calls_that_send_nothing_makes_room() -> None:
    ended = threading.Event()

    def nothing() -> Iterator[bytes]:
        ended.wait(SECONDS)
        yield from ()

    with _healthy() as port, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        checks = [channel.stream_unary(_CHECK).future(nothing()) for _ in range(MOST_READS)]
        watches = [channel.stream_stream(_WATCH)(nothing()) for _ in range(MOST_READS)]
        calls: list[Any] = [*checks, *watches]
        wait_until(lambda: sum(not call.is_active() for call in calls) == MOST_READS)
        stub = health_pb2_grpc.HealthStub(channel)
        for _ in range(3):
            assert stub.Check(health_pb2.HealthCheckRequest(), timeout=SECONDS).status == 1
        ended.set()


def test_a_message_of_a_call_without_one_is_refused() -> None:
    with _healthy() as port, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        assert channel.stream_unary(_CHECK).future(iter(())).code() == _Code.INVALID_ARGUMENT
        assert channel.unary_unary(_CHECK).future(b"\xff").code() == _Code.INVALID_ARGUMENT
        assert channel.unary_stream(_WATCH)(b"\xff").code() == _Code.INVALID_ARGUMENT


def test_a_call_that_is_not_read_sends_few_bytes() -> None:
    """Until a server reads a call, its client may send what the server's settings say: 4 MiB with gRPC's default."""
    with _healthy() as port, socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(SECONDS)
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        head = client.recv(9, socket.MSG_WAITALL)
        settings = client.recv(int.from_bytes(head[:3], "big"), socket.MSG_WAITALL)
        found = dict(struct.iter_unpack(">HI", settings))
        assert head[3] == 4
        assert found.get(4, 65_535) <= 65_535


def test_few_messages_of_known_callers_are_read_at_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """520 callers could each send the longest message there is: 16 GiB before the first of them was looked at."""
    with concurrent.futures.ThreadPoolExecutor(128) as threads:
        server = grpc.server(
            threads,
            interceptors=[Admission(Limits())],
            options=options(Access()),
        )
        beam_artifact_api_pb2_grpc.add_ArtifactRetrievalServiceServicer_to_server(OfferedArtifacts(), server)
        reflection.enable_server_reflection([reflection.SERVICE_NAME], server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        ended = threading.Event()

        def nothing() -> Iterator[bytes]:
            ended.wait(SECONDS)
            yield from ()

        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            slow: list[Any] = [
                channel.stream_unary(_RESOLVE).future(nothing()) for _ in range(2 * MOST_READS)
            ]
            monkeypatch.setattr(reading, "_SLOW_SECONDS", 1.0)
            assert channel.unary_unary(_RESOLVE)(b"", timeout=SECONDS) == b""
            wait_until(lambda: sum(call.done() for call in slow) >= MOST_READS)
            large = channel.unary_unary(_RESOLVE).future(bytes(MOST_BYTES + 1))
            assert large.code() == _Code.RESOURCE_EXHAUSTED
            idle: list[Any] = [channel.stream_stream(_REFLECT)(nothing()) for _ in range(2 * MOST_READS)]
            wait_until(lambda: sum(not call.is_active() for call in idle) == MOST_READS)
            ended.set()
        server.stop(0).wait()


def test_the_memory_of_many_messages_goes_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """glibc keeps pieces of freed memory: after floods of health calls a service held 2 GB that it did not use."""
    trimmed: list[int] = []
    monkeypatch.setattr(reading, "_LOOK_SECONDS", 0.0)
    reader = reading.FewReads()
    monkeypatch.setattr(reader._trimmer, "_trim", trimmed.append)
    for count in (15, 1, 16):
        for _ in range(count):
            reader.first([bytes(4 << 20)], object())
        wait_until(lambda: len(trimmed) == {15: 0, 1: 1, 16: 2}[count])  # noqa: B023 - is called at once
