"""Ports of this machine that nobody uses, for servers that cannot choose one themselves."""

from __future__ import annotations

import contextlib
import socket


def free_ports(count: int) -> list[int]:
    """Gives different ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
