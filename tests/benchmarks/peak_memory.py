"""How much memory a worker process needs at most, beyond the frameworks' own imports and the models.

``python -m tests.benchmarks.peak_memory NAME`` is a process with these alone: it prints its peak, in bytes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from beam_ensembles_service.callers.listeners import process_on
from scripts import servers
from scripts.layout import PYTHON, ROOT
from scripts.steps import Missing
from tests.benchmarks import bare, go_ways
from tests.benchmarks import workload as workloads
from tests.benchmarks.pipelines import ENSEMBLE
from tests.benchmarks.workload import ARROW_BATCH, SERVICE_FLAGS, Workload

ENSEMBLES: Final = ("text", "image")
ALLOWED: Final = 500
"""Megabytes that a worker may need besides."""
HEADINGS: Final = ("ensemble", "imports and models", "worker, at most", "besides", "target", "")
_ROWS: Final = 2 * ARROW_BATCH
_MB: Final = 1_000_000
_PAUSE: Final = 0.1
_PSUTIL: Final[Any] = importlib.import_module("psutil")  # it has no types


@dataclasses.dataclass(frozen=True)
class Peak:
    """What a worker process needs.

    Attributes:
        ensemble: What it scores.
        base: Bytes that a process needs for imports and models.
        worker: Bytes that the worker had resident at most.
    """

    ensemble: str
    base: int
    worker: int

    @property
    def reached(self) -> bool:
        """Whether it needs no more than it may."""
        return self.worker - self.base <= ALLOWED * _MB


def measure() -> list[Peak]:
    """Measures workers of the service that score the rows of a pipeline in Go on Prism, in their batches."""
    try:
        go_ways.build()
    except Missing:
        return []
    return [_of(workloads.load(name)) for name in ENSEMBLES]


def _of(workload: Workload) -> Peak:
    workloads.write_values(workload)
    alone = subprocess.run(
        [PYTHON, "-m", __name__, workload.name], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    ready = servers.service(workload.models, flags=SERVICE_FLAGS)
    with ready as service, servers.prism() as prism:
        process = process_on(service)
        assert process is not None
        score = go_ways.on_prism(workload, ENSEMBLE, service, prism)
        worker = _of_workers(process, lambda: score(_ROWS))
        return Peak(workload.name, int(alone.stdout), worker)


def _of_workers(service: int, work: Callable[[], object]) -> int:
    """Gives the most bytes that a worker of a service, or a process of its stage, has had resident.

    It looks often, for they end with the job.
    """
    found: dict[int, int] = {}
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(work)
        while not done.done():
            for child in _PSUTIL.Process(service).children(recursive=True):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                    found[child.pid] = max(found.get(child.pid, 0), _peak(child.pid))
            time.sleep(_PAUSE)
        done.result()
    return max(found.values())


def _peak(process: int) -> int:
    """Gives the most bytes that a process has had resident."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) * 1_024 if found else 0


def cells(one: Peak) -> tuple[str, ...]:
    """Gives it as the texts of a line."""
    sizes = (one.base, one.worker, one.worker - one.base)
    verdict = "reached" if one.reached else "missed"
    return (one.ensemble, *(f"{size / _MB:,.0f} MB" for size in sizes), f"at most {ALLOWED} MB", verdict)


_TITLE: Final = "Memory: what a worker process needs besides the frameworks' imports and the models"


def show(found: Sequence[Peak], console: Console) -> None:
    """Prints the table."""
    table = Table(title=_TITLE)
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in HEADINGS[1:4] else "left")
    for one in found:
        table.add_row(*cells(one))
    console.print(table)


def page(found: Sequence[Peak]) -> str:
    """Gives the table as a part of a page in Markdown."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *map(cells, found)]
    return "\n".join([f"## {_TITLE}", "", *(f"| {' | '.join(texts)} |" for texts in lines), "", ""])


def main() -> int:
    """Imports what a worker imports, loads the models, prints the peak."""
    for module in (
        "apache_beam.ml.inference.base",
        "apache_beam.runners.worker.sdk_worker",
        "beam_ensembles_service",
    ):
        importlib.import_module(module)
    name = sys.argv[1]
    models = bare.load_bare(name).load(workloads.load(name).models)
    print(_peak(os.getpid()))
    del models
    return 0


if __name__ == "__main__":
    sys.exit(main())
