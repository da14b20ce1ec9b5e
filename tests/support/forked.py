"""The program of processes that tests fork: it carries out requests from its pipe until that closes."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import threadpoolctl

from beam_ensembles.processes import child_process
from beam_ensembles.processes.machine import this_machine
from tests.support.patience import SECONDS


def main() -> int:
    """Answers one question after another; gives the exit code."""
    with child_process.pipe_of(sys.argv[1]) as pipe, contextlib.suppress(EOFError):
        while True:
            asked, *arguments = pipe.recv()
            if asked == "end":
                return int(arguments[0])
            pipe.send(_ANSWERS[asked](*arguments))
    return 0


def _itself() -> dict[str, Any]:
    return {
        "words": sys.argv[2:],
        "environment": dict(os.environ),
        "name": Path("/proc/self/comm").read_text().strip(),
        "parent": os.getppid(),
        "leads": os.getsid(0) == os.getpid(),
        "draws": np.random.rand(),
        "log_handlers": list(map(str, logging.getLogger().handlers)),
        "reads": sys.stdin.read(),
        "cores": this_machine().cores.count,
        "handles": signal.getsignal(signal.SIGCHLD),
        "threads": [info["num_threads"] for info in threadpoolctl.threadpool_info()],
    }


def _what_another_says(cores: int) -> tuple[dict[str, Any], int | None]:
    """Forks another such process, with so many cores; returns its facts and its exit code."""
    process, pipe = child_process.start(__name__, cores=cores)
    pipe.send(("itself",))
    found = pipe.recv()
    pipe.close()
    return found, process.wait(SECONDS)


def _finds(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


_ANSWERS: Final[Mapping[str, Callable[..., Any]]] = {
    "itself": _itself,
    "another": _what_another_says,
    "finds": _finds,
}
