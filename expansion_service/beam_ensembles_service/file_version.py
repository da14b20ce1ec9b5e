"""Whether a file is still the one that was read."""

from __future__ import annotations

import os
from typing import TypeAlias

Version: TypeAlias = tuple[int, int, int]


def version_of(path: str) -> Version | None:
    """Returns what differs between two versions of a file; None where there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
