"""A file's bytes, read where they are needed.

A file that is mapped to memory ends the process if its owner cuts it off meanwhile; this one raises an error.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final, overload

from beam_ensembles.files.local_files import open_regular

_BLOCK: Final = 8 << 10
"""Bytes that are read for one: headers are read one after the other, weights in between are skipped."""
_SEARCHED: Final = 1 << 20


class FileBytes:
    """The bytes of an open file, as long as it was when it was opened.

    Args:
        descriptor: The file's.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._length = descriptor, os.fstat(descriptor).st_size
        self._block, self._start = b"", 0

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int, /) -> int: ...
    @overload
    def __getitem__(self, at: slice, /) -> bytes: ...
    def __getitem__(self, at: int | slice, /) -> int | bytes:
        if isinstance(at, slice):
            start, end, _ = at.indices(self._length)
            return self._read(start, max(end - start, 0))
        offset = at - self._start
        if not 0 <= offset < len(self._block):
            self._block, self._start = self._read(at, min(_BLOCK, self._length - at)), at
            offset = 0
        return self._block[offset]

    def find(self, wanted: bytes, start: int, end: int) -> int:
        """Returns where some bytes are first within a part; -1 where they are not."""
        for at in range(start, end, _SEARCHED):
            found = self[at : min(at + _SEARCHED + len(wanted) - 1, end)].find(wanted)
            if found >= 0:
                return at + found
        return -1

    def _read(self, at: int, length: int) -> bytes:
        """Reads so many bytes.

        Raises:
            OSError: The file has become shorter.
        """
        parts = []
        while length > 0:
            part = os.pread(self._descriptor, length, at)
            if not part:
                raise OSError("the file was cut off while it was read")
            parts.append(part)
            at, length = at + len(part), length - len(part)
        return b"".join(parts)


@contextlib.contextmanager
def opened_bytes(path: str) -> Iterator[FileBytes]:
    """Opens a regular file for as long as the block lasts.

    Raises:
        OSError: It is none, or cannot be read.
    """
    with open_regular(path) as file:
        yield FileBytes(file.fileno())
