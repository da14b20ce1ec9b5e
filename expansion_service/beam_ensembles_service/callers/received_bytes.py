"""Close connections that send more than their calls need.

gRPC (1.85) reads some things without a limit before any interceptor sees a call, whoever sends them: headers without
an end, frames of priorities, frames of unknown types. No option limits them: four connections took a service 1.3 GB
in ten seconds. So a thread compares what each connection has received with the calls that have begun on it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import resource
import socket
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import grpc

from beam_ensembles.processes.tcp_bytes import received_bytes
from beam_ensembles_service.callers.tcp_sockets import Endpoint, endpoint_of
from beam_ensembles_service.requests.reading import MOST_READS, Trimmer

MOST_BYTES: Final = 1 << 20
"""Bytes that a connection may receive between two of its calls; headers of a call are at most 16 KiB."""
DEFAULT_MESSAGE_BYTES: Final = 4 << 20
"""gRPC's limit of a message."""
_LOOK_SECONDS: Final = 0.25
_OWN: Final = Path("/proc/self/fd")
_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)
_NO_MORE_FILES: Final = (errno.EMFILE, errno.ENFILE)


@dataclasses.dataclass(slots=True)
class _Calls:
    """The calls of one client's address.

    Attributes:
        events: How many have begun, and how many of those that were let in have ended.
        open: How many of those that were let in are open.
    """

    events: int = 0
    open: int = 0


class ReceivedBytes:
    """Closes connections of a port that receive more than ``MOST_BYTES``, and a message for each open call.

    Only calls of callers who may call have room for a message. What a connection received before its newest call does
    not count. Nothing is closed where the system does not count the bytes of a connection, that is, outside of Linux.

    Args:
        message_bytes: The server's limit of a message.
    """

    def __init__(self, message_bytes: int) -> None:
        self._message_bytes = message_bytes
        self._trimmer = Trimmer()
        self._lock = threading.Lock()
        self._calls: dict[Endpoint, _Calls] = {}
        self._counted: dict[str, tuple[int, int]] = {}
        """The events of each connection when they last changed, and the bytes that it had received then."""

    def begin(self, context: grpc.ServicerContext, *, may_send: bool) -> None:
        """Count a call.

        Args:
            context: The call's.
            may_send: Whether its caller may send a message of any length.
        """
        peer = endpoint_of(context.peer())
        if peer is None:
            return
        with self._lock:
            calls = self._calls.setdefault(peer, _Calls())
            calls.events += 1
            calls.open += may_send
        if may_send and not context.add_callback(lambda: self._end(peer)):  # the caller has gone
            self._end(peer)

    def _end(self, peer: Endpoint) -> None:
        with self._lock:
            calls = self._calls[peer]
            calls.events += 1
            calls.open -= 1

    def watch(self, port: int) -> None:
        """Look after the connections of a port of this process, for as long as this object is there."""
        threading.Thread(
            target=_watch, args=(port, weakref.ref(self)), name="received bytes", daemon=True
        ).start()

    def look(self, port: int) -> None:
        """Close the connections that have received too much since the last look."""
        counted: dict[str, tuple[int, int]] = {}
        peers = set()
        for name, connection in _connections(port):
            with contextlib.suppress(OSError):
                received, peer = received_bytes(connection), _peer(connection)
                if received is None or peer is None:
                    continue
                peers.add(peer)
                with self._lock:
                    calls = dataclasses.replace(self._calls.get(peer, _Calls()))
                events, before = self._counted.get(name, (0, 0))
                counted[name] = (events, before) if events == calls.events else (calls.events, received)
                room = MOST_BYTES + min(calls.open, MOST_READS) * self._message_bytes
                if received - counted[name][1] > room:
                    connection.shutdown(socket.SHUT_RDWR)
                    self._trimmer.add(received - counted[name][1])
        self._counted = counted
        with self._lock:
            gone = [peer for peer, calls in self._calls.items() if peer not in peers and not calls.open]
            for peer in gone:
                del self._calls[peer]


def _watch(port: int, reference: weakref.ref[ReceivedBytes]) -> None:
    while (found := reference()) is not None:
        found.look(port)
        del found
        time.sleep(_LOOK_SECONDS)


def _peer(connection: socket.socket) -> Endpoint | None:
    host, port = connection.getpeername()[:2]
    return endpoint_of(f"ipv{4 if connection.family == socket.AF_INET else 6}:[{host}]:{port}")


def _connections(port: int) -> Iterator[tuple[str, socket.socket]]:
    """Yields this process's connections at a port with their names."""
    for number in _descriptors():
        with contextlib.suppress(OSError):
            link = os.readlink(_OWN / str(number))
            if not link.startswith("socket:"):
                continue
            with _connection(number) as connection:
                if connection.family in _FAMILIES and connection.getsockname()[1] == port:
                    yield link, connection


def _descriptors() -> Iterable[int]:
    """Returns the numbers of all open files; where connections have taken all of them, those that there may be."""
    try:
        return [int(name) for name in os.listdir(_OWN)]
    except OSError:
        return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


@contextlib.contextmanager
def _connection(number: int) -> Iterator[socket.socket]:
    """Yields a copy of a connection, which stays the same one; where no file can be opened, the connection itself."""
    try:
        copy = os.dup(number)
    except OSError as error:
        if error.errno not in _NO_MORE_FILES:
            raise
        connection = socket.socket(fileno=number)
        try:
            yield connection
        finally:
            connection.detach()
    else:
        with socket.socket(fileno=copy) as connection:
            yield connection
