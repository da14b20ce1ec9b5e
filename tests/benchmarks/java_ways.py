"""Rows a second from Java: the ensemble by this project's service. One program, started once, makes all runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

from scripts import servers
from scripts.shell import Command
from scripts.toolchains import go, java, maven
from tests.benchmarks import workload as workloads
from tests.benchmarks.pipelines import ENSEMBLE
from tests.benchmarks.programs import started
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.workload import BUNDLE_ROWS, SERVICE_FLAGS, Workload, different

ROWS: Final = {"light": 14_680_064, "digits": 4_194_304, "text": 30_720, "image": 73_728}
"""Rows of the first long run: seconds of work; about eight starts where a start takes seconds."""


def build() -> None:
    """Builds the pipeline.

    Raises:
        Missing: there is no JDK, no Maven, or no Go for Prism.
    """
    java.require()
    maven.package()
    go.build_prism()


@contextlib.contextmanager
def java_ways(workload: Workload) -> Iterator[dict[str, Way]]:
    """Gives the way to score a workload's rows from Java, on Prism."""
    with servers.service(workload.models, flags=SERVICE_FLAGS) as service, servers.prism() as prism:
        bundles = f"--bundleRows={BUNDLE_ROWS[workload.name]}"
        with scoring(workload, service, prism, bundles) as (run, seconds):
            rows, step = ROWS[workload.name], different(workload.name)
            yield {ENSEMBLE: Way(run, rows, scores="all", step=step, started=seconds)}


@contextlib.contextmanager
def scoring(
    workload: Workload, service: str, runner: str, *flags: str
) -> Iterator[tuple[Callable[[int], Run], float]]:
    """Starts a program that scores rows from Java.

    Args:
        workload: The rows.
        service: Address of the expansion service.
        runner: Address of the runner's job service.
        flags: Others of the program.

    Yields:
        What scores rows, and the seconds until the program was ready.
    """
    command: Command = [
        "java",
        "-jar",
        maven.BENCH_JAR,
        f"--workload={workload.name}",
        f"--values={workloads.file_for_clients(workload)}",
        f"--ensemble={workload.ensemble}",
        f"--expansionService={service}",
        "--runner=PortableRunner",
        f"--jobEndpoint={runner}",
        *flags,
    ]
    with started("java", command, java.environment()) as program:
        yield program
