"""Who listens on a port of this machine, as Linux tells it below ``/proc``."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

_LISTENING: Final = "0A"
_PROC: Final = Path("/proc")
_ENDED: Final = ("Z", "X")
"""States of a process that has ended, also where nobody has asked how yet."""
_STARTED: Final = 18
"""Where /proc tells when a process was started, counted from the field after its state."""


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
        if any(_link(file) in wanted for file in _files(process)):
            return int(process.name)
    return None


def _files(process: Path) -> list[Path]:
    """Gives the open files of a process; none where it has ended, or is not ours to look into."""
    try:
        return list((process / "fd").iterdir())
    except OSError:
        return []


def _link(file: Path) -> str | None:
    """Gives what an open file is; None where it has been closed meanwhile, as others of its process may be."""
    try:
        return os.readlink(file)
    except OSError:
        return None


def identity(pid: int) -> str | None:
    """Gives a name of a process that none that is started later has; None where it has ended."""
    try:
        state, *fields = (_PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return None if state in _ENDED else f"{pid} of {fields[_STARTED]} of {boot}"


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
