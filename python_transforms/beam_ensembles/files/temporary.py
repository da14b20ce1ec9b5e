"""Temporary files and folders, and the removal of those that killed processes left.

The process that creates one locks it. The kernel drops the lock when the process ends or is killed, so a file that can
be locked is a leftover. Process ids would not do: the system reuses them, and containers that share a disk have their
own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from typing import Final

_LONGEST_STEM: Final = 200
_FLAGS: Final = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_RDWR
_ENDING: Final = ".part"


@contextlib.contextmanager
def part_file(folder: str, name: str) -> Iterator[tuple[str, int]]:
    """Create a file ``.NAME.RANDOM.part`` to be moved to its final name, and remove those of dead processes.

    Args:
        folder: The folder of the final file, so that the move is atomic.
        name: The final name.

    Yields:
        The path, and the open file's descriptor, which the block closes. A file that is still there at the end is
        removed.

    Raises:
        OSError: The file cannot be created.
    """
    stem = f".{os.fsdecode(os.fsencode(name)[:_LONGEST_STEM])}."
    _remove_leftovers(folder, stem, _ENDING)
    path, descriptor = _new_file(folder, stem)
    lock = os.dup(descriptor)  # the lock lasts as long as either is open
    try:
        yield path, descriptor
    finally:
        os.close(lock)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def temporary_folder(prefix: str, parent: str | None = None) -> Iterator[str]:
    """Create a folder for this user alone, for as long as the block lasts, and remove those of dead processes.

    Args:
        prefix: How its name starts; no other kind of folder in ``parent`` may start so.
        parent: The folder to create it in; the system's temporary folder by default.
    """
    parent = parent or tempfile.gettempdir()
    _remove_leftovers(parent, prefix, "")
    path, lock = _new_folder(parent, prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _new_file(folder: str, stem: str) -> tuple[str, int]:
    while True:
        path = os.path.join(folder, f"{stem}{secrets.token_hex(8)}{_ENDING}")
        descriptor = os.open(path, _FLAGS, 0o666)
        if _locked(descriptor) and _is_at(descriptor, path):
            return path, descriptor
        os.close(descriptor)  # another process took it for a leftover before it was locked


def _new_folder(parent: str, prefix: str) -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(dir=parent, prefix=prefix)
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if _locked(lock) and _is_at(lock, path):
                return path, lock
            os.close(lock)


def _remove_leftovers(folder: str, prefix: str, ending: str) -> None:
    """Removes unlocked files and folders of this user; never follows a link."""
    try:
        with os.scandir(folder) as entries:
            found = [one.path for one in entries if one.name.startswith(prefix) and one.name.endswith(ending)]
    except OSError:
        return
    for path in found:
        with contextlib.suppress(OSError):
            _remove_leftover(path)


def _remove_leftover(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        is_ours = status.st_uid == os.getuid() and (
            stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        )
        if not is_ours or not _locked(descriptor, else_held=False) or not _is_at(descriptor, path):
            return
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, *, else_held: bool = True) -> bool:
    """Whether the lock was taken; on a disk without locks, what ``else_held`` says."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return else_held
    return True


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
