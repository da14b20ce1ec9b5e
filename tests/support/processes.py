"""The processes that a test's own has started."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest import mock

from beam_ensembles.processes.fork_client import HERE, ForkServer, OwnForkServer

_NAME: Final = 15
"""How many characters of a forked process's name the kernel keeps."""


def children_that_run(module: str) -> list[Any]:
    """Returns those whose command, or name where they were forked, names a module that has this last name."""
    found = _psutil().Process().children(recursive=True)
    return [child for child in found if module in _command(child) or _name(child) == module[:_NAME]]


def children(parent: int) -> list[int]:
    """Returns the processes that a process has started itself."""
    return [child.pid for child in _psutil().Process(parent).children()]


@contextmanager
def forked_from(server: ForkServer) -> Iterator[None]:
    """Fork all processes that this one starts within the block, as a worker of a pool does.

    A process that is not forked imports Beam and scikit-learn first: five seconds of a core.
    """
    attributes: dict[str, Any] = {"_connection": server._connection, "_server": server, "_pid": os.getpid()}
    with mock.patch.multiple(HERE, **attributes):
        yield


def start_fork_server() -> OwnForkServer:
    """Starts what processes of tests are forked from; it has imported what models of scikit-learn need."""
    return OwnForkServer("tests.support.hazards")


def _command(process: Any) -> str:
    try:
        return " ".join(process.cmdline())
    except _psutil().Error:  # it has just ended
        return ""


def _name(process: Any) -> str:
    try:
        return str(process.name())
    except _psutil().Error:
        return ""


def _psutil() -> Any:
    """Returns psutil, which has no types; machines that run ``tests/gpu`` alone may lack it."""
    return importlib.import_module("psutil")
