"""The TCP sockets of this machine, with the user of each, as Linux lists them in ``/proc/net``.

A socket that its process has closed is listed with user 0, which is root's number. So only rows of open sockets count:
those that have an inode.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED: Final = "01"
_LISTENING: Final = "0A"
_USERS: Final = Path("/proc/self/uid_map")
_NOBODY: Final = Path("/proc/sys/kernel/overflowuid")
_ALL_USERS: Final = 1 << 32
"""One more than the highest number of a user."""


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """One side of a connection.

    Attributes:
        address: An IPv4 address that is written as an IPv6 one is an IPv4 address here.
        port: Its port.
    """

    address: Address
    port: int

    def __str__(self) -> str:
        host = f"[{self.address}]" if self.address.version == 6 else str(self.address)
        return f"{host}:{self.port}"


@dataclasses.dataclass(frozen=True, slots=True)
class Socket:
    """An open socket of a process in this network namespace.

    Attributes:
        local: Its own side.
        remote: The other side; port 0 where it listens.
        user: The user that opened it; None where that user has no number in this user namespace.
        inode: Its number, which links below ``/proc/PID/fd`` name.
    """

    local: Endpoint
    remote: Endpoint
    user: int | None
    inode: int


def can_tell() -> bool:
    """Whether this system lists its sockets."""
    return _TABLES[0].exists()


def client_sockets(peer: Endpoint, port: int) -> list[Socket]:
    """Returns the client's sockets of connections from ``peer`` to a port of this machine.

    There is mostly one. Connections to several addresses may come from one endpoint.
    """
    found = _sockets(_ESTABLISHED, peer.port)
    return [one for one in found if one.local == peer and one.remote.port == port]


def listening_sockets(port: int) -> list[Socket]:
    """Returns the sockets that listen on a port."""
    return list(_sockets(_LISTENING, port))


def endpoint_of(peer: str) -> Endpoint | None:
    """Parses a peer as gRPC names it, such as ``ipv4:127.0.0.1:5`` or ``ipv6:%5B::1%5D:5``.

    Returns:
        None where it is not a TCP peer.
    """
    kind, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6") or not port.isascii() or not port.isdigit():
        return None
    try:
        return Endpoint(_plain(ipaddress.ip_address(host.strip("[]"))), int(port))
    except ValueError:
        return None


def _sockets(state: str, port: int) -> Iterator[Socket]:
    """Yields the open sockets in a state whose own side has a port."""
    mark = f":{port:04X}"
    try:
        nobody = _nobody()
    except OSError:  # no file can be opened: what is nobody's number could be taken for a user's
        return
    for table in _TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            if mark not in line:
                continue
            fields = line.split()
            local, inode = _endpoint(fields[1]), int(fields[9])
            if fields[3] == state and local.port == port and inode:
                user = int(fields[7])
                yield Socket(local, _endpoint(fields[2]), None if user == nobody else user, inode)


def _nobody() -> int | None:
    """Returns the number of all users outside of this user namespace; None if the namespace holds every user.

    Raises:
        OSError: The system has namespaces, and does not tell.
    """
    if not _USERS.exists():
        return None
    counts = [int(line.split()[2]) for line in _USERS.read_text(encoding="ascii").splitlines()]
    return None if sum(counts) >= _ALL_USERS - 1 else int(_NOBODY.read_text(encoding="ascii"))


def _endpoint(text: str) -> Endpoint:
    """Parses ``0100007F:1F90``: words of 32 bits in the machine's byte order, then the port."""
    address, _, port = text.partition(":")
    words = bytes.fromhex(address)
    count = len(words) // 4
    packed = struct.pack(f"={count}I", *struct.unpack(f">{count}I", words))
    return Endpoint(_plain(ipaddress.ip_address(packed)), int(port, 16))


def _plain(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
