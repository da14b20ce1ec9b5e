"""Zip archives that a stranger may have made: opened with a limit, and what reading a damaged one raises."""

from __future__ import annotations

import contextlib
import copy
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

_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""How members may be packed. Python's ``zipfile`` unpacks other methods a block of the archive at a time, however many
gigabytes that block becomes."""
_BLOCK: Final = 1 << 16
_RAW_DEFLATE: Final = -15

_ENTRY: Final = b"PK\x01\x02"
_LENGTHS: Final = struct.Struct("<3H")
_LENGTHS_AT: Final = 28
_ENTRY_BYTES: Final = 46


@contextlib.contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
    """Opens an archive for reading; at its end it is closed.

    Raises:
        BadZipFile: As ``archive_of`` says.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file, archive_of(file) as archive:
        yield archive


def archive_of(file: IO[bytes]) -> zipfile.ZipFile:
    """Returns the archive in an open file, which stays open when the archive is closed.

    Raises:
        BadZipFile: It is none, its directory is too large, or a member cannot be read.
    """
    watched: Any = _Watched(file)
    archive = zipfile.ZipFile(watched)
    watched.is_opened = True
    for info in archive.infolist():
        if info.header_offset < 0:  # an ``OSError`` otherwise, as of a disk
            raise zipfile.BadZipFile(f"its member {info.filename[:200]!r} would begin before the file does")
        if info.compress_type not in _METHODS:
            raise zipfile.BadZipFile(
                f"its member {info.filename[:200]!r} is compressed by another method than deflate; "
                "save the file with compression=zipfile.ZIP_DEFLATED or without compression"
            )
    return archive


def check_sizes(archive: zipfile.ZipFile) -> None:
    """Checks that no member unpacks to more bytes than the directory says.

    ``zipfile`` cuts a longer member off, but only after ``read()`` has unpacked up to 2 GiB of it.

    Raises:
        BadZipFile: A member does.
    """
    for info in archive.infolist():
        if info.compress_type != zipfile.ZIP_DEFLATED:
            continue
        packed = copy.copy(info)  # the same bytes, as they are packed
        packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
        del packed.CRC
        with archive.open(packed) as file:
            if _is_longer(file, info.file_size):
                raise zipfile.BadZipFile(
                    f"its member {info.filename[:200]!r} is longer than its directory says"
                )


def _is_longer(packed: IO[bytes], size: int) -> bool:
    unpacker = zlib.decompressobj(_RAW_DEFLATE)
    while not unpacker.eof and size >= 0:
        block = unpacker.unconsumed_tail or packed.read(_BLOCK)
        found = unpacker.decompress(block, _BLOCK)
        size -= len(found)
        if not block and not found:
            break
    return size < 0


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
