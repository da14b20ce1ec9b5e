"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Self

from beam_ensembles.files.temporary import part_file


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[IO[bytes]]:
    """Opens a file that takes its name only when the block ends without an error.

    Until then it is called ``.<name>.<random>.part``, in the same folder (``leftovers``). A file that has the name
    already stays as it is until then; a link goes on pointing where it points.

    Args:
        path: The file's name.

    Raises:
        PermissionError: It is a link of another user's: it could lead to a file that only this user can write to.
    """
    if os.path.islink(path) and os.lstat(path).st_uid not in (0, os.geteuid()):
        raise PermissionError(errno.EPERM, "it is a link that another user made", path)
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    with part_file(folder, name) as (part, descriptor):
        with open(descriptor, "wb") as file:
            yield file
        os.replace(part, target)


def settle(file: IO[bytes]) -> None:
    """Flush what was written to a file to the disk.

    Raises:
        OSError: The disk is full, or cannot be written to.
    """
    file.flush()
    os.fsync(file.fileno())


class OptionalFile:
    """A whole file that is only there when something was written to it; one of its name from before is removed.

    Args:
        path: The file's name.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._stack = contextlib.ExitStack()
        self._file: IO[bytes] | None = None

    def write(self, text: bytes) -> None:
        """Writes text; nothing to write makes no file."""
        if text and self._file is None:
            self._file = self._stack.enter_context(whole_file(self._path))
        if self._file is not None:
            self._file.write(text)

    def settle(self) -> None:
        """Flush what was written to the disk, if there is a file.

        Raises:
            OSError: The disk is full, or cannot be written to.
        """
        if self._file is not None:
            settle(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)
        if error is None and self._file is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
