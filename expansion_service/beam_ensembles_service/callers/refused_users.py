"""Close connections of users who may not call, once they have sent more than asking for the health takes.

gRPC (1.85) reads headers without an end before any interceptor sees the call, and no option limits them: four
connections took a service hundreds of megabytes. So a thread looks at how much each connection has received.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from beam_ensembles_service.callers.tcp_sockets import Endpoint, endpoint_of

MOST_BYTES: Final = 1 << 20
"""How much one connection may send whose user may not call; ten thousand questions for the health are less."""
_LOOK_SECONDS: Final = 0.25
_OWN: Final = Path("/proc/self/fd")
_RECEIVED: Final = struct.Struct("=128xQ")
"""``tcpi_bytes_received`` of Linux's ``struct tcp_info``."""
_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)


def watch(port: int, is_refused: Callable[[Endpoint], bool]) -> None:
    """Close such connections to a port of this process from here on, for as long as the method's object is there.

    Args:
        port: The port.
        is_refused: A method: whether the user at the other end of a connection may not call.
    """
    method = weakref.WeakMethod(is_refused)
    threading.Thread(target=_watch, args=(port, method), name="refused users", daemon=True).start()


def _watch(port: int, method: Callable[[], Callable[[Endpoint], bool] | None]) -> None:
    while (is_refused := method()) is not None:
        for connection in _connections(port):
            close_refused(connection, is_refused)
        del is_refused
        time.sleep(_LOOK_SECONDS)


def close_refused(connection: socket.socket, is_refused: Callable[[Endpoint], bool]) -> None:
    """Close a connection if it has received much of a user who may not call."""
    with contextlib.suppress(OSError):
        said = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size)
        if len(said) < _RECEIVED.size or _RECEIVED.unpack(said)[0] <= MOST_BYTES:
            return
        host, port = connection.getpeername()[:2]
        caller = endpoint_of(f"ipv{4 if connection.family == socket.AF_INET else 6}:[{host}]:{port}")
        if caller is not None and is_refused(caller):
            connection.shutdown(socket.SHUT_RDWR)


def _connections(port: int) -> Iterator[socket.socket]:
    """Yields this process's connections at a port; each is a copy, so that it stays the same one."""
    for name in os.listdir(_OWN):
        with contextlib.suppress(OSError):
            if not os.readlink(_OWN / name).startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as connection:
                if connection.family in _FAMILIES and connection.getsockname()[1] == port:
                    yield connection
