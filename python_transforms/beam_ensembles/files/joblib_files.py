"""Read files that joblib has compressed, a part at a time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any, Final

_PART: Final = 1 << 20
_LONGEST_HEAD: Final = 5

UNPACKING_ERRORS: Final = (EOFError, OSError, lzma.LZMAError, zlib.error)
"""The exceptions of reading damaged content."""


class _Inflated(io.RawIOBase):
    """Reads a zlib stream, as joblib writes it by default where it compresses."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._unpack = file, zlib.decompressobj()

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills a buffer as far as it can; returns how many bytes it has, 0 at the end."""
        view = memoryview(buffer)
        while not self._unpack.eof:
            packed = self._unpack.unconsumed_tail or self._file.read(_PART)
            found = self._unpack.decompress(packed, len(view))
            if found or not packed:
                view[: len(found)] = found
                return len(found)
        return 0


_OPENERS: Final[tuple[tuple[bytes, Callable[[IO[bytes]], Any]], ...]] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ", lzma.open),
    (b"\x5d\0\0", lzma.open),
    (b"\x78", _Inflated),
)
"""How joblib compresses, by how such files begin."""


def unpacked(file: io.BufferedReader) -> io.BufferedReader:
    """Returns the content of a file that is compressed, else the file itself.

    Args:
        file: The file, at its start. The result reads from it; a fault of the compression is raised
            then, as one of ``UNPACKING_ERRORS``.
    """
    start = file.peek(_LONGEST_HEAD)
    opener = next((one for head, one in _OPENERS if start.startswith(head)), None)
    return file if opener is None else io.BufferedReader(opener(file), _PART)
