"""How many copies of a model workers hold, and how much memory a worker needs besides imports and models.

``python -m tests.benchmarks.memory NAME`` is a process with imports and models alone: it prints its peak, in bytes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from beam_ensembles_service.callers.listeners import process_on
from scripts import servers
from scripts.layout import PYTHON, ROOT
from scripts.shell import Command, Missing
from tests.benchmarks import ways
from tests.benchmarks import workload as workloads
from tests.benchmarks.report import Line
from tests.benchmarks.workload import ARROW_BATCH, Workload
from tests.support.memory import copies_held

PROCESSES: Final = 4
THREADS: Final = 4
_WIDTH: Final = 5_792
_CONFIGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "nothing said": {},
    "large_model: true": {"large_model": True},
    "model_copies: 2": {"model_copies": 2},
}
ENSEMBLES: Final = ("text", "image")
ALLOWED: Final = 500e6
"""Bytes that a worker may need besides."""
_PSUTIL: Final[Any] = importlib.import_module("psutil")  # it has no types


def measure() -> Iterator[Line]:
    """Measures both: copies of a model of 256 MiB, and workers of the service that score rows from Go on Prism."""
    with tempfile.TemporaryDirectory() as folder:
        size, copies = copies_held(Path(folder), _WIDTH, _CONFIGS, PROCESSES, THREADS)
    for config, held in copies.items():
        caller = f"{PROCESSES} workers, {THREADS} threads each"
        yield Line("one model", caller, f"memory, {config}", held * size, "bytes", "its weights", size)
    with contextlib.suppress(Missing):
        ways.build_go()
        yield from (_of_worker(workloads.load(name)) for name in ENSEMBLES)


def _of_worker(workload: Workload) -> Line:
    workload.write_values()
    command: Command = [PYTHON, "-m", "tests.benchmarks.memory", workload.name]
    alone = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    with servers.service(workload.models) as service, servers.prism() as prism:
        process = process_on(service)
        assert process is not None
        score = ways.on_go(workload, "ensemble", service, prism)
        peak = _peak_of_workers(process, lambda: score(2 * ARROW_BATCH))
    what, against = "memory, at most", "imports and models"
    return Line(workload.name, "worker", what, peak, "bytes", against, int(alone), more_at_most=ALLOWED)


def _peak_of_workers(service: int, work: Callable[[], object]) -> int:
    """Returns the most bytes that a worker of a service, or a process of its stage, has had resident.

    It looks often, for they end with the job.
    """
    found: dict[int, int] = {}
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(work)
        while not done.done():
            for child in _PSUTIL.Process(service).children(recursive=True):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                    found[child.pid] = max(found.get(child.pid, 0), resident(child.pid, "VmHWM"))
            time.sleep(0.1)
        done.result()
    return max(found.values())


def resident(process: int, which: str) -> int:
    """Returns the bytes that a process has resident, ``VmRSS``, or has had at most, ``VmHWM``."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(rf"^{which}:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) * 1_024 if found else 0


def main() -> int:
    """Imports what a worker imports, loads the models, prints the peak."""
    for module in (
        "apache_beam.ml.inference.base",
        "apache_beam.runners.worker.sdk_worker",
        "beam_ensembles_service",
    ):
        importlib.import_module(module)
    score = workloads.load(sys.argv[1]).load()
    print(resident(os.getpid(), "VmHWM"))
    del score
    return 0


if __name__ == "__main__":
    sys.exit(main())
