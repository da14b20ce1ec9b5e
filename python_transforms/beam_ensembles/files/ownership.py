"""Find files that other users of this machine can change."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final

_ROOT: Final = 0


def is_foreign(path: str) -> bool:
    """Whether users other than this one and root can change or replace a file or folder."""
    try:
        found = os.stat(path)
        is_open = not os.path.isdir(path) and found.st_mode & stat.S_IWOTH
        return (
            found.st_uid not in (_ROOT, os.getuid())
            or bool(is_open)
            or _is_foreign(path)
            or foreign_above(path) is not None
        )
    except OSError:
        return True


def foreign_above(folder: str) -> str | None:
    """Returns a folder above this one, or a link on the way to it, that others can write to; None where there is none.

    The root folder is left out: whoever can write to it controls everything.
    """
    named = os.path.abspath(folder)
    if os.lstat(named).st_uid not in (_ROOT, os.getuid()):
        return named
    above = (*_above(named), *_above(os.path.realpath(named)))
    return next((path for path in above if _is_foreign(path)), None)


def _above(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) != os.sep:
        yield path


def _is_foreign(path: str) -> bool:
    """Whether others can rename the contents of a folder, or change where a link leads."""
    found = os.lstat(path)
    if found.st_uid not in (_ROOT, os.getuid()):
        return True
    if stat.S_ISLNK(found.st_mode) or found.st_mode & stat.S_ISVTX:
        return False
    by_group = found.st_mode & stat.S_IWGRP and found.st_gid not in (_ROOT, os.getgid())
    by_others = by_group or found.st_mode & stat.S_IWOTH
    return bool(by_others) and not os.path.ismount(path)  # Kubernetes lets all of a pod write to its volumes
