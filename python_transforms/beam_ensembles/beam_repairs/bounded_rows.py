"""Reads elements no further than the bytes that came.

Beam's compiled stream takes every length in a row as it is written. One that lies is followed out of the message: the
worker ends, or bytes of its memory become part of the row.

Written for Apache Beam 2.77.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apache_beam.coders import coder_impl

from beam_ensembles.errors import EnsembleError

InputStream: Any = coder_impl.create_InputStream
"""Beam's own stream."""
_read: Callable[[Any, int], bytes] = InputStream.read
_size: Callable[[Any], int] = InputStream.size


class BoundedStream(InputStream):  # type: ignore[misc]
    """Beam's stream, which refuses to read texts, bytes and masks beyond its end.

    Numbers are read without a look: those of one row can go too far, into the fence, and ``check`` finds that.

    Args:
        data: The bytes of a message.
        fence: How many bytes follow them: as many as the numbers of one element can take. All of them are 255. No
            varint, null or boolean begins with that, and it is not a count of a list: reading one ends with an error.
    """

    __slots__ = ("fence",)

    def __init__(self, data: bytes, fence: int = 64) -> None:
        self.fence = fence
        super().__init__(data + b"\xff" * fence)

    def read(self, size: int) -> bytes:
        """Returns the next bytes."""
        if not 0 <= size <= _size(self) - self.fence:
            raise malformed()
        return _read(self, size)


def fence_for(fields: int) -> int:
    """Returns how many bytes have to follow rows of so many numbers, those of inner rows and counts included."""
    return 64 + 40 * fields


def malformed() -> EnsembleError:
    """Returns the error of an element whose lengths lie."""
    return EnsembleError("an incoming row is malformed: a length in it goes beyond the bytes that came")


def left(stream: Any) -> int:
    """Returns how many bytes of a stream are left, fewer than none where it was read too far."""
    return _size(stream) - stream.fence if stream.__class__ is BoundedStream else _size(stream)


def check(stream: Any) -> int:
    """Returns how many bytes of a stream are left.

    Raises:
        EnsembleError: A value was read beyond its end.
    """
    found = left(stream)
    if found < 0:
        raise malformed()
    return found
