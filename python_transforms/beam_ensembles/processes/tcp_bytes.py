"""How many bytes a connection has received, as Linux counts them."""

from __future__ import annotations

import socket
import struct
from typing import Final

_RECEIVED: Final = struct.Struct("=128xQ")
"""``tcpi_bytes_received`` of Linux's ``struct tcp_info``."""


def received_bytes(connection: socket.socket) -> int | None:
    """Returns how many bytes a connection has received; None where the system does not count them."""
    option = getattr(socket, "TCP_INFO", None)
    if option is None:
        return None
    try:
        said = connection.getsockopt(socket.IPPROTO_TCP, option, _RECEIVED.size)
    except OSError:  # not TCP, or gone
        return None
    return int(_RECEIVED.unpack(said)[0]) if len(said) == _RECEIVED.size else None
