"""Zip archives that a stranger may have made: opened with a limit, and what reading a damaged one raises."""

from __future__ import annotations

import contextlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, Final

DAMAGE: Final[tuple[type[Exception], ...]] = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)
"""The exceptions of opening and reading an untrusted archive, besides ``OSError``."""

MOST_FILES: Final = 100_000
MOST_DIRECTORY: Final = 64 << 20
"""Bytes of an archive's directory. Python's ``zipfile`` reads it as a whole and makes an object of about 500 bytes of
each entry, which needs 46."""

_ENTRY: Final = b"PK\x01\x02"
_LENGTHS: Final = struct.Struct("<3H")
_LENGTHS_AT: Final = 28
_ENTRY_BYTES: Final = 46


@contextlib.contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
    """Opens an archive for reading; at its end it is closed.

    Raises:
        BadZipFile: It is none, or its directory is too large.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file, archive_of(file) as archive:
        yield archive


def archive_of(file: IO[bytes]) -> zipfile.ZipFile:
    """Returns the archive in an open file, which stays open when the archive is closed.

    Raises:
        BadZipFile: It is none, or its directory is too large.
    """
    watched: Any = _Watched(file)
    archive = zipfile.ZipFile(watched)
    watched.is_opened = True
    return archive


class _Watched:
    """A file of which ``zipfile`` reads no huge directory while it opens it.

    The directory is what ``zipfile`` reads, whatever the end of the file says: two records there may contradict each
    other and the directory itself, and which of them counts is for each version of Python to say.

    Attributes:
        is_opened: Whether the directory was read; members may have any size.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.is_opened = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        """Reads bytes; refuses those of a huge directory."""
        if self.is_opened:
            return self._file.read(size)
        if size > MOST_DIRECTORY:
            raise zipfile.BadZipFile(f"its directory has {size} bytes; {MOST_DIRECTORY} is the most")
        found = self._file.read(size)
        if found.startswith(_ENTRY) and _has_more_entries(found, MOST_FILES):
            raise zipfile.BadZipFile(f"its directory lists more than {MOST_FILES} files")
        return found


def _has_more_entries(directory: bytes, most: int) -> bool:
    at = count = 0
    while at + _ENTRY_BYTES <= len(directory) and count <= most:
        at += _ENTRY_BYTES + sum(_LENGTHS.unpack_from(directory, at + _LENGTHS_AT))
        count += 1
    return count > most
