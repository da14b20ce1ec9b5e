"""The processes that a test's own has started."""

from __future__ import annotations

import importlib
from typing import Any, Final

_PSUTIL: Final[Any] = importlib.import_module("psutil")  # it has no types


def children_that_run(module: str) -> list[Any]:
    """Gives those whose command names a module."""
    return [child for child in _PSUTIL.Process().children() if module in _command(child)]


def children(parent: int) -> list[int]:
    """Gives the processes that a process has started itself."""
    return [child.pid for child in _PSUTIL.Process(parent).children()]


def _command(process: Any) -> str:
    try:
        return " ".join(process.cmdline())
    except _PSUTIL.NoSuchProcess:  # it has just ended
        return ""
