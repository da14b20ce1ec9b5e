"""Databases of lookups that answer with anything: a relay stands between a worker and a real PostgreSQL, and lies."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.functions.lookup import guard
from beam_ensembles.graph.kinds import Member
from tests.support.nodes import load_node
from tests.support.postgres import Postgres, running_postgres
from tests.unit.functions.lookup.conftest import node

_ROW = b"D"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        server.execute("CREATE TABLE numbers AS SELECT n, n * 2 AS twice FROM generate_series(1, 5000) AS n")
        yield server


@dataclasses.dataclass
class Relay:
    """A relay and its lie.

    Attributes:
        port: Where it connects.
        lie: Makes of a row of an answer the bytes to send instead; None passes the row on.
        sent: Bytes of lies.
    """

    port: int
    lie: Any = None
    sent: int = 0
    ended: threading.Event = dataclasses.field(default_factory=threading.Event)


@pytest.fixture
def relay(postgres: Postgres) -> Iterator[Relay]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found = Relay(listening.getsockname()[1])

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    server = socket.create_connection(("127.0.0.1", postgres.port))
                    threading.Thread(target=_pump, args=(client, server), daemon=True).start()
                    threading.Thread(target=_lie, args=(server, client, found), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield found
        found.ended.set()
        listening.shutdown(socket.SHUT_RDWR)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while block := source.recv(1 << 16):
            sink.sendall(block)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _lie(server: socket.socket, client: socket.socket, relay: Relay) -> None:
    with contextlib.suppress(OSError, struct.error):
        while True:
            head = _exactly(server, 5)
            message = head + _exactly(server, struct.unpack(">I", head[1:])[0] - 4)
            if relay.lie is None or head[:1] != _ROW:
                client.sendall(message)
                continue
            for block in relay.lie(message):
                if relay.ended.is_set():
                    break
                client.sendall(block)
                relay.sent += len(block)
    for end in (server, client):
        end.close()


def _exactly(source: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        block = source.recv(count - len(found))
        if not block:
            raise OSError
        found += block
    return found


def endless_rows(row: bytes) -> Iterator[bytes]:
    while True:
        yield row * 1_000


def slow_bytes(row: bytes) -> Iterator[bytes]:
    yield row[:-1]
    while True:
        time.sleep(0.2)
        yield _ROW + struct.pack(">I", len(row) - 1) + row[5:]


def no_number(row: bytes) -> Iterator[bytes]:
    yield row[:-1] + b"x"


def many_rows(row: bytes) -> Iterator[bytes]:
    yield row * 100_000


@pytest.fixture
def member(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> Member:
    password = "pass%2Fw%40rd"
    url = f"postgresql+psycopg://tester:{password}@127.0.0.1:{relay.port}/postgres?sslmode=disable"
    monkeypatch.setenv("TEST_DB", url)
    more: dict[str, Any] = {"table": "numbers", "key": "n", "outputs": {"twice": "int64"}}
    spec = node(url={"secret": "env:TEST_DB"}, timeout=2, retries=0, **more)
    found = load_node(Path("/"), {"n": "int64"}, spec)
    assert found({"n": np.array([3])})["twice"].tolist() == [6]
    return found


@pytest.mark.parametrize(
    ("lie", "code", "said"),
    [
        (endless_rows, "server_unreachable", "more than 64 MiB"),
        (slow_bytes, "server_unreachable", "no whole answer within 2 s"),
        (no_number, "bad_output", "the database's answer cannot be read"),
        (many_rows, "key_not_unique", "several rows of one key"),
    ],
)
def test_an_answer_that_lies_is_one_error(
    lie: Any, code: str, said: str, relay: Relay, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_MOST_BYTES", 64 << 20)
    monkeypatch.setattr(guard, "_GRACE_SECONDS", 1.0)
    relay.lie = lie
    begin, before = time.monotonic(), resident_bytes()
    with pytest.raises(NodeError) as raised:
        member({"n": np.array([3])})
    error = raised.value.faults[0] if isinstance(raised.value, SomeFailed) else raised.value
    assert time.monotonic() - begin < 60.0
    assert (error.code, said in error.message) == (code, True), error.message
    assert resident_bytes() < before + (700 << 20)
    relay.lie = None
    assert member({"n": np.array([4])})["twice"].tolist() == [8]


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
