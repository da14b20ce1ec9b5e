"""The processes of this machine that hold TCP sockets, as Linux tells it below ``/proc``."""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import os
import signal
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from beam_ensembles_service.callers.tcp_sockets import (
    Address,
    Endpoint,
    Socket,
    client_sockets,
    endpoint_of,
    listening_sockets,
)

_PROC: Final = Path("/proc")
_ENDED: Final = ("Z", "X")
"""States of a process that has ended, also where nobody has asked how yet."""
_STARTED: Final = 18
"""Where /proc tells when a process was started, counted from the field after its state."""


@dataclasses.dataclass(frozen=True, slots=True)
class Runner:
    """A runner that has asked for a worker: it holds the connection that asked, and the port that workers connect to.

    Attributes:
        process: The ``identity`` of its process; None where that cannot be seen, as in another container of a pod.
    """

    process: str | None


def is_listening(address: str, seconds: float = 2.0) -> bool:
    """Whether a connection to ``host:port`` is taken."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), seconds).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def process_on(address: str) -> int | None:
    """Returns the process that listens on ``host:port`` of this machine.

    Returns:
        Its id; None where nobody listens, or only a process that this one may not look into: one of another user, or
        of a container that does not share its processes.
    """
    wanted = {one.inode for one in _listening_on(address)}
    return min(_holders(wanted), default=None) if wanted else None


def runner_of(peer: str, port: int, control: str) -> Runner | None:
    """Returns the runner that calls, while its connection is open.

    Args:
        peer: The caller, as gRPC names it.
        port: The port of this machine that it calls.
        control: ``host:port`` where it says that it waits for workers.

    Returns:
        None where the caller and the listener at ``control`` are not one process.
    """
    caller = endpoint_of(peer)
    calling = client_sockets(caller, port) if caller else []
    listening = _listening_on(control)
    if not calling or not listening:
        return None
    ours, theirs = ({one.inode for one in some} for some in (calling, listening))
    holders = _holders(ours | theirs)
    for pid, held in holders.items():
        if held & ours and held & theirs and _is_of(pid, {one.user for one in (*calling, *listening)}):
            process = identity(pid)
            return None if process is None else Runner(process)
    same_user = {one.user for one in calling} == {one.user for one in listening}
    return Runner(None) if not holders and same_user else None


def _is_of(pid: int, users: set[int | None]) -> bool:
    """Whether users may end a process: a user can hand its sockets to another user's process."""
    try:
        lines = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    owner = next(int(line.split()[1]) for line in lines if line.startswith("Uid:"))
    return users <= {owner, os.geteuid(), 0}


def identity(pid: int) -> str | None:
    """Returns a name of a process that none that is started later has; None where it has ended."""
    try:
        state, *fields = (_PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return None if state in _ENDED else f"{pid} of {fields[_STARTED]} of {boot}"


def pid_of(process: str) -> int:
    """Returns the process id in an ``identity``."""
    return int(process.split()[0])


def is_running(process: str) -> bool:
    """Whether the process of an ``identity`` has not ended."""
    return identity(pid_of(process)) == process


def signal_process(process: str, number: int) -> None:
    """Sends a signal to the process of an ``identity``, and to none that has got its number since.

    Raises:
        OSError: It has ended, or may not be signalled, or this system has no ``pidfd_open``.
    """
    descriptor = os.pidfd_open(pid_of(process))
    try:
        # Looked up with the descriptor at hand: a process that has this identity now is the one that it stands for.
        if not is_running(process):
            raise ProcessLookupError(3, os.strerror(3))
        signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def _holders(inodes: set[int]) -> Mapping[int, set[int]]:
    """Returns which processes have which of some sockets open."""
    links = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, set[int]] = {}
    for process in _PROC.glob("[0-9]*"):
        held = {links[link] for link in _links(process) if link in links}
        if held:
            found[int(process.name)] = held
    return found


def _links(process: Path) -> Iterable[str]:
    """Yields what a process has open; nothing where it has ended, or is not ours to look into."""
    try:
        files = list((process / "fd").iterdir())
    except OSError:
        return
    for file in files:
        with contextlib.suppress(OSError):  # closed meanwhile
            yield os.readlink(file)


def _listening_on(address: str) -> list[Socket]:
    """Returns the sockets that take connections to ``host:port``; none where the host is not this machine."""
    found = _addresses(address)
    ports = {one.port for one in found}
    listening = [one for port in ports for one in listening_sockets(port)]
    return [one for one in listening if any(_takes(one.local.address, wanted.address) for wanted in found)]


def _addresses(address: str) -> set[Endpoint]:
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError):
        return set()
    endpoints = (endpoint_of(f"ipv4:{place[0]!s}:{place[1]!s}") for *_, place in found)
    return {one for one in endpoints if one is not None}


def _takes(listener: Address, wanted: Address) -> bool:
    if listener == wanted:
        return True
    reaches = listener.version == wanted.version or listener.version == 6
    return listener.is_unspecified and reaches and (wanted.is_loopback or _is_here(wanted))


def _is_here(address: Address) -> bool:
    """Whether an address is one of this machine's."""
    family = socket.AF_INET6 if isinstance(address, ipaddress.IPv6Address) else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return not address.is_unspecified
