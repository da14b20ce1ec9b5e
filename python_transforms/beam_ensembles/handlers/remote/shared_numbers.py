"""Whole numbers that all processes of a user on a machine share, in a file."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import Final

import numpy as np

from beam_ensembles.errors import EnsembleError

VARIABLE: Final = "BEAM_ENSEMBLES_STATE"
"""The environment variable that names the folder of these files."""


class SharedNumbers:
    """An array of whole numbers, zeros at first.

    Args:
        names: What the numbers are about; processes that give the same names share them.
        shape: The shape of the array.

    Raises:
        EnsembleError: The folder of these files belongs to others, or cannot be made.
    """

    def __init__(self, names: tuple[str, ...], shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._size = 8 * int(np.prod(shape))
        digest = hashlib.sha256("\0".join((*names, *map(str, shape))).encode()).hexdigest()
        self._path = os.path.join(_folder(), digest[:32])

    @contextlib.contextmanager
    def locked(self) -> Iterator[np.ndarray]:
        """Yields the array, which nobody else reads or changes meanwhile; what the block changes is kept."""
        # Opened each time: threads, and processes that were forked, would share the lock of an open file.
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            content = os.pread(file, self._size, 0).ljust(self._size, b"\0")
            numbers = np.frombuffer(bytearray(content), np.int64).reshape(self._shape)
            yield numbers
            os.pwrite(file, numbers.tobytes(), 0)
        finally:
            os.close(file)


def _folder() -> str:
    named = os.environ.get(VARIABLE)
    folder = named or os.path.join(tempfile.gettempdir(), f"beam-ensembles-{os.getuid()}", "limits")
    above = folder if named else os.path.dirname(folder)
    try:
        for path in (above, folder):
            os.makedirs(path, mode=0o700, exist_ok=True)
            found = os.lstat(path)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
                text = f"quotas and budgets need '{path}' as a folder that only you can change"
                raise EnsembleError(f"{text}; name another one in ${VARIABLE}")
    except OSError as error:
        text = f"quotas and budgets need the folder '{folder}': {error.strerror}"
        raise EnsembleError(f"{text}; name another one in ${VARIABLE}") from error
    return folder
