"""Locks that hold between the processes of a machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Holds the lock of a path, for which a file is made beside it; a process that ends lets go of it.

    Whoever holds it may remove that file (``lock_of``).
    """
    while True:
        with open(lock_of(path), "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_still(lock_of(path), file):
                yield
                return


def lock_of(path: str) -> str:
    """Returns the file that is locked for a path."""
    return f"{path}.lock"


def _is_still(path: str, file: Any) -> bool:
    """Returns whether a file that was waited for has not been removed, or replaced, meanwhile."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
