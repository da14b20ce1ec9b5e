"""The pool of Python workers beside the task managers."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.layout import PYTHON, ROOT
from scripts.processes import serving
from scripts.shell import Command


def pool_command(port: int = 0, *flags: str) -> Command:
    """Returns the command of a pool that ends a task manager which waits forever for a worker that died.

    Args:
        port: Where it is to listen; 0: on a free one.
        flags: Others of its flags.
    """
    serve: Command = [
        PYTHON,
        "-m",
        "beam_ensembles.cli.main",
        "workers",
        f"--port={port}",
        "--stop-with-stdin",
    ]
    return [*serve, "--when-a-worker-dies=stop-runner", *flags]


def pool_environment() -> dict[str, str]:
    """Returns the environment of a pool whose workers know the tests."""
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
    return {**os.environ, "PYTHONPATH": path}


@contextlib.contextmanager
def worker_pool(log: Path, cache: Path | None = None) -> Iterator[str]:
    """Runs a pool on a free port, one for all task managers of this machine, until the block ends.

    Args:
        log: Where what it says goes.
        cache: Where its workers unpack bundles; the user's usual place where it is not given.

    Yields:
        Its address, ``host:port``.
    """
    ready = re.compile(r"workers on (\S+:\d+)")
    env = pool_environment() | ({} if cache is None else {"BEAM_ENSEMBLES_CACHE": str(cache)})
    with serving(pool_command(), ready, log=log, env=env) as address:
        yield address
