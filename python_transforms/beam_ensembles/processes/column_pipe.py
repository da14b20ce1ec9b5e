"""A pipe between two processes of this machine, for columns: large ones cross in memory that both have.

A socket takes what is sent in pieces of some 200 KB, for each of which the other process wakes up, and pickle and the
socket copy columns seven times on the way. Here it is two.
"""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
import os
import pickle
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, Final

from beam_ensembles.processes.descriptor_passing import receive_descriptor, send_descriptor

_LEAST_BYTES: Final = 16 << 10
"""A smaller message is faster over the socket."""

_MOST_BYTES: Final = 64 << 20
"""The memory keeps the size of the largest message. A larger one than this goes through the socket."""

_HAS_MEMORY: Final = hasattr(os, "memfd_create")


@dataclasses.dataclass(frozen=True, slots=True)
class _Placed:
    """Announces a message in memory.

    Attributes:
        sizes: Bytes of its pickle, and of each buffer that belongs to it; they are one behind the other.
        capacity: Of the memory, where it is new and follows; else 0.
    """

    sizes: tuple[int, ...]
    capacity: int


class ColumnPipe:
    """One end of such a pipe.

    An end that sends columns waits for the answer before it sends more: a message is in the same memory as the one
    before, which is read by then. The received copy can be kept; an array that was read-only is so.

    Args:
        connection: To the other end, through a Unix socket; it becomes this pipe's.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._out: mmap.mmap | None = None
        self._in: mmap.mmap | None = None

    def __enter__(self) -> ColumnPipe:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, value: Any) -> None:
        """Sends a value that can be pickled.

        Raises:
            EOFError: The other end is gone.
            OSError: The system refuses what sending takes.
        """
        found: list[pickle.PickleBuffer] = []
        packed = pickle.dumps(value, 5, buffer_callback=found.append)
        with _gone_is_eof():
            if not self._place([memoryview(packed), *(buffer.raw() for buffer in found)]):
                self._connection.send_bytes(pickle.dumps((packed, found), 5))

    def recv(self) -> Any:
        """Waits for what the other end sends, and gives it.

        Raises:
            EOFError: The other end is gone.
            OSError: The system refuses what receiving takes, such as one more file descriptor.
        """
        with _gone_is_eof():
            found = pickle.loads(self._connection.recv_bytes())  # noqa: S301 - of a process that ours has started
            if isinstance(found, _Placed):
                return self._taken(found)
        packed, buffers = found
        return pickle.loads(packed, buffers=buffers)  # noqa: S301 - as above

    def poll(self, timeout: float | None) -> bool:
        """Whether there is something to receive, or the other end is gone, within so many seconds; None: waits."""
        with _gone_is_eof():
            return self._connection.poll(timeout)

    @property
    def closed(self) -> bool:
        """Whether this end is closed."""
        return self._connection.closed

    def fileno(self) -> int:
        """Returns the number of the socket."""
        return self._connection.fileno()

    def close(self) -> None:
        """Closes this end."""
        self._connection.close()
        for memory in (self._out, self._in):
            if memory is not None:
                memory.close()
        self._out = self._in = None

    def _place(self, parts: list[memoryview]) -> bool:
        """Sends a message in memory; False where there is none for it, and nothing was sent."""
        sizes = tuple(part.nbytes for part in parts)
        size = sum(sizes)
        if not _HAS_MEMORY or not _LEAST_BYTES <= size <= _MOST_BYTES:
            return False
        if self._out is not None and len(self._out) >= size:
            _write(self._out, parts)
            self._connection.send_bytes(pickle.dumps(_Placed(sizes, 0), 5))
            return True
        capacity = 1 << (size - 1).bit_length()
        with contextlib.ExitStack() as stack:
            try:
                handle = os.memfd_create("columns")
                stack.callback(os.close, handle)
                # Unlike ftruncate, this fails where there is no memory; writing would end the process by SIGBUS.
                os.posix_fallocate(handle, 0, capacity)
                self._out = mmap.mmap(handle, capacity)
            except (
                OSError
            ):  # limits of files, of their size or of memory, or whoever runs this does not allow it
                return False
            _write(self._out, parts)
            self._connection.send_bytes(pickle.dumps(_Placed(sizes, capacity), 5))
            send_descriptor(self._connection, handle)
        return True

    def _taken(self, placed: _Placed) -> Any:
        if placed.capacity:
            handle = receive_descriptor(self._connection)
            try:
                self._in = mmap.mmap(handle, placed.capacity, access=mmap.ACCESS_READ)
            finally:
                os.close(handle)
        if self._in is None:
            raise EOFError
        with memoryview(self._in) as memory:
            at, *others = placed.sizes
            buffers = []
            for size in others:
                with memory[at : at + size] as part:
                    buffers.append(bytearray(part))
                at += size
            with memory[: placed.sizes[0]] as packed:
                return pickle.loads(packed, buffers=buffers)  # noqa: S301 - as above


@contextlib.contextmanager
def _gone_is_eof() -> Iterator[None]:
    """Raises EOFError for all that says that an end is gone; other refusals of the system pass as they are."""
    try:
        yield
    except ConnectionError as error:
        raise EOFError from error
    except OSError as error:
        if error.errno is None:  # multiprocessing's own: a message broke off, or this end is closed
            raise EOFError from error
        raise


def _write(memory: mmap.mmap, parts: list[memoryview]) -> None:
    at = 0
    with memoryview(memory) as view:
        for part in parts:
            view[at : at + part.nbytes] = part
            at += part.nbytes
