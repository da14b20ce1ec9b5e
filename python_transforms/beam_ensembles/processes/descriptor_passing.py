"""File descriptors that one process hands to another, through a connection that is a Unix socket.

``multiprocessing.reduction`` does the same, but needs a descriptor more for that: where there are none left, the other
end waits for one that does not come.
"""

from __future__ import annotations

import errno
import os
import socket
from multiprocessing.connection import Connection


def send_descriptor(connection: Connection, descriptor: int) -> None:
    """Sends a descriptor.

    Raises:
        OSError: The other end is gone.
    """
    through = socket.socket(fileno=connection.fileno())
    try:
        socket.send_fds(through, [b"\0"], [descriptor])
    finally:
        through.detach()


def receive_descriptor(connection: Connection) -> int:
    """Receives a descriptor that the other end sends.

    Raises:
        EOFError: The other end is gone.
        OSError: This process may have no more descriptors.
    """
    through = socket.socket(fileno=connection.fileno())
    try:
        came, descriptors, _, _ = socket.recv_fds(through, 1, 1)
    finally:
        through.detach()
    if not came:
        raise EOFError
    if not descriptors:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return descriptors[0]
