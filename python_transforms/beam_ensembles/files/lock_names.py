"""How a lock and its golden rows are named: after the ensemble file, beside it."""

from __future__ import annotations

import os
from typing import Final

LOCK: Final = ".lock.yaml"
GOLDEN: Final = ".lock.parquet"


def lock_of(file: str) -> str:
    """Returns the path of an ensemble file's lock: ``fraud.lock.yaml`` for ``fraud.yaml``."""
    return os.path.splitext(file)[0] + LOCK


def golden_of(lock: str) -> str:
    """Returns the path of a lock's golden rows: ``fraud.lock.parquet`` for ``fraud.lock.yaml``."""
    return lock.removesuffix(LOCK) + GOLDEN


def is_lock(path: str) -> bool:
    """Whether a path names a lock, by its suffix."""
    return path.endswith(LOCK)
