"""Rows a second on a real Flink cluster of one task manager with two slots, from three languages.

Each job is cut in two. Python's steps run in a pool of workers, one process for both slots, the same for the ensemble
and for what is wired by hand. Jobs of the ensemble are streams, whose bundles end by themselves: in a batch job a
bundle has all rows of a slot, and one that gives much waits for ever (`docs/flink.md`). What is wired by hand is a
batch job: as a stream it takes half as long again.
"""

from __future__ import annotations

import contextlib
import functools
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from scripts import servers
from scripts.flink.cluster import Options, cluster
from scripts.flink.install import install
from scripts.flink.stream import as_stream
from scripts.flink.workers import worker_pool
from scripts.pipelines import Servers
from scripts.shell import log_path
from tests.benchmarks import go_ways, java_ways, portable_ways
from tests.benchmarks.pipelines import ENSEMBLE, HAND_WIRED
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.stock_service import running_stock_service
from tests.benchmarks.workload import Workload, different

SLOTS: Final = 2
GO: Final = "go-flink"
GO_HAND_WIRED: Final = "go-flink hand-wired"
JAVA: Final = "java-flink"
PYTHON: Final = "python-flink"
ROWS: Final = {GO: 26_214_400, GO_HAND_WIRED: 3_276_800, JAVA: 44_040_192, PYTHON: 6_291_456}
"""Rows of the first long run: seconds of work; about eight starts where a start takes seconds."""

_PARALLEL: Final = f"--parallelism={SLOTS}"
_PARTS: Final = f"--parts={SLOTS}"
_PART_ROWS: Final = 16_384
"""Rows of a part where the job is a stream."""
_BUNDLE: Final = 64
"""After so many parts, or batches of rows, a bundle of a stream ends."""


def build() -> None:
    """Builds the pipelines and fetches Flink.

    Raises:
        Missing: there is no Go, no JDK or no Maven.
    """
    go_ways.build()
    java_ways.build()
    install()


@contextlib.contextmanager
def flink_ways(workload: Workload) -> Iterator[dict[str, Way]]:
    """Gives the ways to score a workload's rows on Flink."""
    with contextlib.ExitStack() as until_the_end:
        enter = until_the_end.enter_context
        folder = Path(enter(tempfile.TemporaryDirectory()))
        options = Options(task_managers=1, slots=SLOTS, logs="flink-bench")
        workers = enter(worker_pool(log_path(f"{options.logs}-workers")))
        runner = enter(cluster(install(), folder, options)).job_server
        ours = enter(servers.service(workload.models, workers=workers))
        stock = enter(running_stock_service(workers))
        at = Servers(ours, runner, workers)
        go = functools.partial(go_ways.scoring, workload, ENSEMBLE, ours, runner)
        python = functools.partial(portable_ways.scoring, workload, at)
        stream = (_PARALLEL, f"--partRows={_PART_ROWS}", *as_stream("Java", _BUNDLE))
        java, seconds = enter(java_ways.scoring(workload, ours, runner, *stream))
        runs = {
            GO: _in_bundles(go, "Go"),
            GO_HAND_WIRED: go_ways.scoring(workload, HAND_WIRED, stock, runner, _PARALLEL, _PARTS),
            JAVA: java,
            PYTHON: _in_bundles(python, "Python"),
        }
        step = math.lcm(different(workload.name), _PART_ROWS)
        yield {
            name: Way(run, ROWS[name], scores="all", step=step, started=seconds if name == JAVA else 0.0)
            for name, run in runs.items()
        }


def _in_bundles(scoring: Callable[..., Callable[[int], Run]], language: str) -> Callable[[int], Run]:
    """Gives what scores rows in a job that is a stream, in parts of which some make a bundle."""
    flags = as_stream(language, _BUNDLE)
    return lambda rows: scoring(_PARALLEL, f"--parts={rows // _PART_ROWS}", *flags)(rows)
