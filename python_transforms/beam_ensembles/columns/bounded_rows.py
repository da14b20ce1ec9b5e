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

    Numbers are read without a look: they go at most a few bytes too far, which ``check`` finds. Being a subclass costs
    each number of a list 50 nanoseconds, so that rows with lists are read from Beam's own stream.
    """

    __slots__ = ()

    def read(self, size: int) -> bytes:
        """Returns the next bytes."""
        if not 0 <= size <= _size(self):
            raise malformed()
        return _read(self, size)


def malformed() -> EnsembleError:
    """Returns the error of an element whose lengths lie."""
    return EnsembleError("an incoming row is malformed: a length in it goes beyond the bytes that came")


def check(stream: Any) -> int:
    """Returns how many bytes of a stream are left.

    Raises:
        EnsembleError: A value was read beyond its end.
    """
    left: int = stream.size()
    if left < 0:
        raise malformed()
    return left
