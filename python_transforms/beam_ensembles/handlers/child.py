"""Processes of this Python that run a module of this package, such as those that hold a model for workers."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import Final

_STANDARD_ERROR: Final = 2
"""Where a process writes that may go on longer than this one: whoever reads our output is not to wait for it."""


def start(module: str, *words: str, own_session: bool = False) -> tuple[subprocess.Popen[bytes], Connection]:
    """Starts a module, with a pipe to it.

    What multiprocessing starts would import the user's main script, and run it once more where it lacks
    ``if __name__ == "__main__"``.

    Args:
        module: Its name; the number of its end of the pipe is its first argument.
        words: Its other arguments.
        own_session: Whether it may go on when this process ends, also where a signal to its whole group ends it.

    Returns:
        The process and our end of the pipe.
    """
    pipe, theirs = multiprocessing.Pipe()
    with theirs:
        descriptor = theirs.fileno()
        process = subprocess.Popen(  # noqa: S603 - this Python, with a module of this package
            [sys.executable, "-m", module, str(descriptor), *words],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=_STANDARD_ERROR if own_session else None,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=own_session,
        )
    return process, pipe


def how_it_ended(code: int | None) -> str:
    """Says how a process ended, as the end of a sentence; nothing where it has not."""
    if code is None:
        return ""
    return f" of signal {-code}" if code < 0 else f" with exit code {code}"
