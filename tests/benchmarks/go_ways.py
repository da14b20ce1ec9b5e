"""Rows a second from Go, on Prism: the ensemble by this project's service, the hand-wired way by Beam's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

from scripts import servers
from scripts.layout import TOOLS
from scripts.shell import Command
from scripts.toolchains import go
from tests.benchmarks import workload as workloads
from tests.benchmarks.pipelines import ENSEMBLE, HAND_WIRED
from tests.benchmarks.programs import run_program
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.stock_service import running_stock_service
from tests.benchmarks.workload import BUNDLE_ROWS, SERVICE_FLAGS, Workload, different

PROGRAM: Final = TOOLS / "bench"
ROWS: Final = {
    "light": {ENSEMBLE: 8_388_608, HAND_WIRED: 65_536},
    "digits": {ENSEMBLE: 2_621_440, HAND_WIRED: 32_768},
    "text": {ENSEMBLE: 32_768},
    "image": {ENSEMBLE: 73_728},
}
"""Rows of the first long run: seconds of work; about eight starts where a start takes seconds."""

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
    ours_ready = servers.service(workload.models, flags=SERVICE_FLAGS)
    with ours_ready as ours, running_stock_service() as stock, servers.prism() as prism:
        address = {ENSEMBLE: ours, HAND_WIRED: stock}
        yield {
            name: Way(
                on_prism(workload, name, address[name], prism),
                rows,
                scores="all",
                step=different(workload.name),
            )
            for name, rows in ROWS[workload.name].items()
        }


def on_prism(workload: Workload, way: str, service: str, prism: str) -> Callable[[int], Run]:
    """Gives what scores rows from Go, in bundles as readers of files and queues make them.

    Args:
        workload: The rows.
        way: ``ENSEMBLE`` or ``HAND_WIRED``.
        service: Address of the expansion service.
        prism: Address of Prism's job service.
    """
    return scoring(workload, way, service, prism, f"--bundle_rows={BUNDLE_ROWS[workload.name]}")


def scoring(workload: Workload, way: str, service: str, runner: str, *flags: str) -> Callable[[int], Run]:
    """Gives what scores rows from Go.

    Args:
        workload: The rows.
        way: ``ENSEMBLE`` or ``HAND_WIRED``.
        service: Address of the expansion service.
        runner: Address of the runner's job service.
        flags: Others of the program.
    """
    command: Command = [
        PROGRAM,
        f"--workload={workload.name}",
        f"--mode={_MODES[way]}",
        f"--values={workloads.file_for_clients(workload)}",
        f"--ensemble={workload.ensemble}",
        f"--models={workload.models}",
        f"--expansion_addr={service}",
        f"--endpoint={runner}",
        *flags,
    ]
    return lambda rows: run_program("go", [*command, f"--rows={rows}"])
