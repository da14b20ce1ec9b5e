"""Rows a second on a real Flink cluster of one task manager with two slots, from three languages.

Each job is cut in two parts, its rows are made in two parts too. Python's steps run in a pool of workers, one process
for both slots (Go's SDK cannot ask for more), the same for the ensemble and for what is wired by hand.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts import servers
from scripts.flink.cluster import Options, cluster
from scripts.flink.install import install
from scripts.flink.workers import worker_pool
from scripts.pipelines import Servers
from scripts.shell import log_path
from tests.benchmarks import go_ways, java_ways, portable_ways
from tests.benchmarks.pipelines import ENSEMBLE, HAND_WIRED
from tests.benchmarks.sampling import Way
from tests.benchmarks.stock_service import running_stock_service
from tests.benchmarks.workload import Workload, different

SLOTS: Final = 2
GO: Final = "go-flink"
GO_HAND_WIRED: Final = "go-flink hand-wired"
JAVA: Final = "java-flink"
PYTHON: Final = "python-flink"
ROWS: Final = {GO: 8_388_608, GO_HAND_WIRED: 2_359_296, JAVA: 3_145_728, PYTHON: 6_291_456}
"""Rows of a long run: nearly ten times as much work as it takes to start, but with the ensemble from Go and Java, where
a bundle that gives much more waits for ever (`docs/flink.md`)."""

_PARALLEL: Final = f"--parallelism={SLOTS}"
_PARTS: Final = f"--parts={SLOTS}"


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
        runs = {
            GO: go_ways.scoring(workload, ENSEMBLE, ours, runner, _PARALLEL, _PARTS),
            GO_HAND_WIRED: go_ways.scoring(workload, HAND_WIRED, stock, runner, _PARALLEL, _PARTS),
            JAVA: java_ways.scoring(workload, ours, runner, _PARALLEL, _PARTS),
            PYTHON: portable_ways.scoring(workload, Servers(ours, runner, workers), _PARALLEL, _PARTS),
        }
        yield {
            name: Way(run, ROWS[name], scores="all", step=different(workload.name))
            for name, run in runs.items()
        }
