"""The address that the service listens on. Imports nothing of Beam: a port in use is said at once."""

from __future__ import annotations

import socket


class CannotListenError(Exception):
    """The address cannot be listened on; the message is one sentence."""


def try_address(host: str, port: int) -> None:
    """Listens for a moment: gRPC itself says neither why it cannot, nor that in one line.

    Raises:
        CannotListenError: The port is in use, or the host is not this machine.
    """
    try:
        family, kind, proto, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            probe.listen()
    except OSError as exc:
        why = (exc.strerror or str(exc)).lower()
        raise CannotListenError(f"cannot listen on {address(host, port)}: {why}") from exc


def address(host: str, port: int) -> str:
    """Returns ``host:port``, as gRPC writes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
