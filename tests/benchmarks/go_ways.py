"""Rows a second from Go, on Prism: the ensemble by this project's service, the hand-wired way by Beam's own."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from scripts import servers
from scripts.layout import TOOLS
from scripts.shell import CommandFailed, log_path, tail
from scripts.toolchains import go
from tests.benchmarks import workload as workloads
from tests.benchmarks.pipelines import ENSEMBLE, HAND_WIRED
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.stock_service import running_stock_service
from tests.benchmarks.workload import Workload

PROGRAM: Final = TOOLS / "bench"
ROWS: Final = {
    "light": {ENSEMBLE: 2_097_152, HAND_WIRED: 131_072},
    "digits": {ENSEMBLE: 524_288, HAND_WIRED: 32_768},
}
"""Rows of a long run: several seconds of work."""

_SECONDS: Final = 300
_MODES: Final = {ENSEMBLE: "ensemble", HAND_WIRED: "handwired"}


def build() -> None:
    """Builds the pipeline.

    Raises:
        Missing: there is no Go.
    """
    go.build("./cmd/bench", PROGRAM)
    go.build_prism()


@contextlib.contextmanager
def go_ways(workload: Workload) -> Iterator[dict[str, Way]]:
    """Gives the ways to score a workload's rows from Go."""
    with servers.service(workload.models) as ours, running_stock_service() as stock, servers.prism() as prism:
        address = {ENSEMBLE: ours, HAND_WIRED: stock}
        yield {
            name: Way(_way(workload, name, address[name], prism), rows, scores="all")
            for name, rows in ROWS[workload.name].items()
        }


def _way(workload: Workload, name: str, service: str, prism: str) -> Callable[[int], Run]:
    command: list[str | Path] = [
        PROGRAM,
        f"--workload={workload.name}",
        f"--mode={_MODES[name]}",
        f"--values={workloads.values_path(workload.name)}",
        f"--ensemble={workload.ensemble}",
        f"--models={workload.models}",
        f"--expansion_addr={service}",
        f"--endpoint={prism}",
    ]
    return lambda rows: _run([*command, f"--rows={rows}"])


def _run(command: list[str | Path]) -> Run:
    log = log_path("bench-go")
    with log.open("w", encoding="utf-8") as errors:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        raise CommandFailed(f"{PROGRAM.name} ended with {done.returncode}:\n{tail(log)}")
    return Run(**json.loads(done.stdout))
