"""The pool of Python workers beside the task managers."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

from scripts.layout import PYTHON, ROOT
from scripts.processes import serving
from scripts.shell import Command, log_path


@contextlib.contextmanager
def worker_pool() -> Iterator[str]:
    """Runs a pool on a free port, one for all task managers of this machine, until the block ends.

    It ends a task manager that waits for ever for a worker that died. What it says is in build/logs/flink-workers.log.

    Yields:
        Its address, ``host:port``.
    """
    serve: Command = [PYTHON, "-m", "beam_ensembles.cli.main", "workers", "--port=0", "--stop-with-stdin"]
    command: Command = [*serve, "--when-a-worker-dies=stop-runner"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    log = log_path("flink-workers")
    with serving(command, re.compile(r"workers on (\S+:\d+)"), log=log, env=env) as address:
        yield address
