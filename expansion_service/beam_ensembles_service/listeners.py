"""Who listens on a port of this machine, as Linux tells it below ``/proc``."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

_LISTENING: Final = "0A"
_PROC: Final = Path("/proc")


def is_listening(address: str, seconds: float = 2.0) -> bool:
    """Whether a connection to ``host:port`` is taken."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), seconds).close()
    except (OSError, ValueError):
        return False
    return True


def process_on(address: str) -> int | None:
    """Gives the process that listens on the port of ``host:port``.

    Returns:
        Its id; None where nobody listens, or only a process that this one may not look into: one of another user, or
        of a container that does not share its processes.
    """
    port = address.rpartition(":")[2]
    wanted = _sockets(int(port)) if port.isdigit() else set()
    for process in _PROC.glob("[0-9]*") if wanted else ():
        try:
            if wanted & {os.readlink(file) for file in (process / "fd").iterdir()}:
                return int(process.name)
        except OSError:  # it has ended, or is not ours to look into
            continue
    return None


def _sockets(port: int) -> set[str]:
    """Gives the sockets that listen on a port, as the links of files name them."""
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            local, state, inode = fields[1], fields[3], fields[9]
            if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                found.add(f"socket:[{inode}]")
    return found
