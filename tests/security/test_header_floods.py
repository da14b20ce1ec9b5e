"""Connections that send without an end what gRPC reads before it knows the caller: the service closes them."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from apache_beam.portability.api import beam_expansion_api_pb2, beam_expansion_api_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from beam_ensembles_service.callers import received_bytes
from beam_ensembles_service.callers.received_bytes import MOST_BYTES, ReceivedBytes
from tests.support.certificates import make_certificate
from tests.support.patience import SECONDS, wait_until
from tests.support.service import RunningService, running_service

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="needs Linux's /proc")
TOKEN: Final = "a-token-of-this-test-1"
BEARER: Final = (("authorization", f"Bearer {TOKEN}"),)
FLOODING: Final = 4


def frame(kind: int, data: bytes, stream: int, flags: int = 0) -> bytes:
    return struct.pack(">I", len(data))[1:] + struct.pack(">BBI", kind, flags, stream) + data


START: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, b"", 0)
HEADERS: Final = b"\0\1a\x7e" + b"b" * 126
CHECK: Final = (
    b"\x83\x86\x44\x1c/grpc.health.v1.Health/Check\x41\x01a"
    b"\x40\x0ccontent-type\x10application/grpc\x40\x02te\x08trailers"
)
FLOODS: Final = {
    "headers": (frame(1, b"\0\1a\1b", 1), frame(9, HEADERS * 100, 1)),
    "a header": (frame(1, b"\0\1a\x7f\xff\xff\xff\xff\x07", 1), frame(9, b"b" * 16_000, 1)),
    "priorities": (b"", frame(2, b"\0\0\0\0\1", 1) * 1_000),
    "frames of no known type": (b"", frame(0x77, b"a" * 16_000, 0)),
    "headers after a call": (frame(1, CHECK, 1, 4) + frame(1, b"\0\1a\1b", 3), frame(9, HEADERS * 100, 3)),
}


@contextlib.contextmanager
def service_with(access: str, folder: Path) -> Iterator[tuple[RunningService, ssl.SSLContext | None]]:
    """Runs a service, and returns what a client needs for TLS."""
    token = folder / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    flags: tuple[str, ...] = () if access == "users" else ("--token-file", str(token))
    context = None
    if access == "TLS":
        key, certificate = make_certificate(folder, "localhost")
        flags = (*flags, "--tls-cert", str(certificate), "--tls-key", str(key))
        context = ssl.create_default_context(cafile=str(certificate))
        context.set_alpn_protocols(["h2"])
    with running_service(*flags) as service:
        yield service, context


@pytest.mark.parametrize(
    ("access", "kinds"), [("token", [*FLOODS]), ("TLS", ["headers"]), ("users", ["headers"])]
)
def test_a_connection_without_calls_sends_little(access: str, kinds: list[str], tmp_path: Path) -> None:
    """Four connections took the service 1.3 GB within ten seconds, whoever opened them."""
    with service_with(access, tmp_path) as (service, context):
        for kind in kinds:
            assert_the_service_closes(kind, service, context)
        with _channel(service, context, tmp_path) as channel:
            assert health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest()).status == 1


def assert_the_service_closes(kind: str, service: RunningService, context: ssl.SSLContext | None) -> None:
    before = _resident_bytes(service)
    ended = threading.Event()
    given = (service, context, *FLOODS[kind], ended)
    threads = [threading.Thread(target=_flood, args=given) for _ in range(FLOODING)]
    for thread in threads:
        thread.start()
    try:
        wait_until(
            lambda: not any(thread.is_alive() for thread in threads), f"each flood of {kind} has an end"
        )
        assert _resident_bytes(service) < before + (200 << 20), kind
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _flood(
    service: RunningService, context: ssl.SSLContext | None, first: bytes, more: bytes, ended: threading.Event
) -> None:
    port = int(service.address.rpartition(":")[2])
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as plain:
        plain.settimeout(5.0)  # gVisor tells a client that is blocked nothing of a closed connection
        connection = plain if context is None else context.wrap_socket(plain, server_hostname="localhost")
        connection.sendall(START + first)
        while not ended.is_set():
            connection.sendall(more)


def _resident_bytes(service: RunningService) -> int:
    pages = Path(f"/proc/{service.process.pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _channel(service: RunningService, context: ssl.SSLContext | None, folder: Path) -> grpc.Channel:
    place = f"localhost:{service.address.rpartition(':')[2]}"
    if context is None:
        return grpc.insecure_channel(place)
    root = (folder / "localhost.pem").read_bytes()
    return grpc.secure_channel(place, grpc.ssl_channel_credentials(root))


def test_callers_who_may_call_send_long_messages_on_one_connection(tmp_path: Path) -> None:
    """Together they are far longer than what a connection without calls may send."""
    with service_with("TLS", tmp_path) as (service, context), _channel(service, context, tmp_path) as channel:
        stub: Any = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
        request = beam_expansion_api_pb2.ExpansionRequest(namespace="n" * (8 << 20))
        answers = [stub.Expand.future(request, metadata=BEARER, timeout=SECONDS) for _ in range(6)]
        assert all("namespace" in answer.result().error for answer in answers)
        healthy = health_pb2_grpc.HealthStub(channel)
        for _ in range(20):
            asked = health_pb2.HealthCheckRequest(service="s" * (MOST_BYTES // 8))
            with pytest.raises(grpc.RpcError) as raised:
                healthy.Check(asked, timeout=SECONDS)
            assert raised.value.code() == grpc.StatusCode.NOT_FOUND


def _no_more_files(*_: Any) -> Any:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


class Context:
    """A call of a client's socket."""

    def __init__(self, client: socket.socket) -> None:
        self._host, self._port = client.getsockname()[:2]
        self.ends: Any = None

    def peer(self) -> str:
        return f"ipv4:{self._host}:{self._port}"

    def add_callback(self, callback: Any) -> bool:
        self.ends = callback
        return True


@pytest.mark.parametrize("has_files", [True, False], ids=["some", "none"])
def test_calls_that_are_let_in_make_room_for_their_messages(
    has_files: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_files:  # connections have taken all files that the process may open
        monkeypatch.setattr(os, "listdir", _no_more_files)
        monkeypatch.setattr(os, "dup", _no_more_files)
    received = ReceivedBytes(4 * MOST_BYTES)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, server.accept()[0] as taken:
            taken.settimeout(SECONDS)
            call: Any = Context(client)

            def is_open_after(size: int) -> bool:
                client.sendall(bytes(size))
                left = size
                while left:
                    left -= len(taken.recv(left))
                received.look(port)
                taken.setblocking(False)
                try:
                    return taken.recv(1) != b""
                except BlockingIOError:
                    return True
                finally:
                    taken.settimeout(SECONDS)

            assert is_open_after(MOST_BYTES - 10)
            received.begin(call, may_send=False)  # the health
            assert is_open_after(MOST_BYTES // 2)
            assert is_open_after(MOST_BYTES // 2)
            received.begin(call, may_send=True)
            assert is_open_after(100)
            assert is_open_after(4 * MOST_BYTES)
            call.ends()
            assert is_open_after(100)
            assert not is_open_after(2 * MOST_BYTES)
        received.look(port)
        assert not received._calls
        assert not received._counted


def test_a_watch_ends_with_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_bytes, "_LOOK_SECONDS", 0.01)
    others = threading.enumerate()
    received = ReceivedBytes(1)
    received.watch(1)
    (thread,) = [one for one in threading.enumerate() if one not in others]
    del received
    thread.join(SECONDS)
    assert not thread.is_alive()
