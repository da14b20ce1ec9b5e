"""Ends connections to a database whose answer takes too long, or is too large.

Drivers collect a whole answer before they return, and their time limits hold for single reads, or are the server's own
to keep. So a thread looks at what the connections of a query have received, and shuts down those that go on for too
long.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

from beam_ensembles.limits import LARGEST_ANSWER
from beam_ensembles.processes.tcp_bytes import received_bytes

_MOST_BYTES = LARGEST_ANSWER
_GRACE_SECONDS = 5.0
"""How much longer than the node's time a query may take: a server that keeps the limit itself says more about it."""
_LOOK_SECONDS: Final = 0.2


class Guard:
    """Watches what one engine's connections receive while its queries run.

    Args:
        engine: The engine.
        seconds: How long one query may take.
    """

    def __init__(self, engine: sa.Engine, seconds: float) -> None:
        self._seconds = seconds
        self._own = threading.local()
        # First of all: SQLAlchemy asks a new connection for its version.
        sa.event.listen(engine, "connect", self._add, insert=True)
        sa.event.listen(engine, "checkout", lambda connection, record, _: self._add(connection, record))
        sa.event.listen(engine, "before_cursor_execute", lambda *_: self._next())

    @contextlib.contextmanager
    def watch(self) -> Iterator[_Watch]:
        """Watches the connections that this thread uses; yields what tells why one was ended."""
        watch = _Watch(self._seconds + _GRACE_SECONDS, self._seconds)
        self._own.watch = watch
        try:
            yield watch
        finally:
            self._own.watch = None
            watch.end()

    def _add(self, connection: Any, _: Any) -> None:
        watch: _Watch | None = getattr(self._own, "watch", None)
        fileno = getattr(connection, "fileno", None)
        if watch is not None and fileno is not None:
            watch.add(fileno())

    def _next(self) -> None:
        watch: _Watch | None = getattr(self._own, "watch", None)
        if watch is not None:
            watch.begin()


class _Watch:
    """The connections of some queries, one after another.

    Args:
        most_seconds: How long one may take.
        seconds: The limit that the message names.
    """

    def __init__(self, most_seconds: float, seconds: float) -> None:
        self.said = ""
        """Why a connection was ended."""
        self._most_seconds, self._seconds = most_seconds, seconds
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._sockets: dict[int, tuple[socket.socket, int]] = {}
        self._begun = time.monotonic()

    def add(self, fileno: int) -> None:
        """Watch a connection; it is a copy, so that it stays the same one."""
        with self._lock:
            if fileno not in self._sockets:
                copy = socket.socket(fileno=os.dup(fileno))
                self._sockets[fileno] = (copy, _received(copy))
        self.begin()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lookup", daemon=True)
            self._thread.start()

    def begin(self) -> None:
        """Another query begins."""
        self._begun = time.monotonic()

    def end(self) -> None:
        """The queries have ended."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        for connection, _ in self._sockets.values():
            connection.close()

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            with self._lock:
                self._look()

    def _look(self) -> None:
        is_late = time.monotonic() - self._begun > self._most_seconds
        for connection, before in self._sockets.values():
            if _received(connection) - before > _MOST_BYTES:
                self.said = f"it sends more than {_MOST_BYTES >> 20} MiB"
            elif is_late:
                self.said = f"no whole answer within {self._seconds:g} s"
            else:
                continue
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _received(connection: socket.socket) -> int:
    """Returns how many bytes a connection has received; 0 where the system does not count them."""
    return received_bytes(connection) or 0
