"""Rows a second of others that score batches in Python: Spark and Ray Data, in environments of their own.

Each is started once and scores all its runs: no run pays for the start of a JVM or of a cluster.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scripts.environments import locked_environment
from scripts.layout import ROOT
from scripts.processes import stop
from scripts.shell import CommandFailed, log_path, tail
from scripts.toolchains import java
from tests.benchmarks import workload as workloads
from tests.benchmarks.programs import SECONDS
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.workload import Workload, different

SPARK: Final = "spark"
RAY: Final = "ray"
ROWS: Final = {
    SPARK: {"light": 6_291_456, "digits": 3_145_728, "text": 8_192, "image": 36_864},
    RAY: {"light": 25_165_824, "digits": 6_291_456, "text": 28_672, "image": 98_304},
}
"""Rows of the first long run: seconds of work; about eight starts where a start takes seconds."""

_MODULES: Final = {SPARK: "spark", RAY: "ray_data"}


def build_spark() -> None:
    """Makes Spark's environment.

    Raises:
        Missing: there is no JDK.
    """
    java.require()
    locked_environment("bench_spark")


def build_ray() -> None:
    """Makes Ray's environment."""
    locked_environment("bench_ray")


@contextlib.contextmanager
def spark_ways(workload: Workload) -> Iterator[dict[str, Way]]:
    """Gives the way to score a workload's rows with Spark's ``predict_batch_udf``."""
    with _ways(workload, SPARK, java.environment()) as ways:
        yield ways


@contextlib.contextmanager
def ray_ways(workload: Workload) -> Iterator[dict[str, Way]]:
    """Gives the way to score a workload's rows with Ray Data's ``map_batches``."""
    env = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(),  # or Ray keeps one in the home folder
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    with _ways(workload, RAY, {**os.environ, **env}) as ways:
        yield ways


@contextlib.contextmanager
def _ways(workload: Workload, peer: str, env: Mapping[str, str]) -> Iterator[dict[str, Way]]:
    python = locked_environment(f"bench_{peer}") / "bin" / "python"
    with tempfile.TemporaryDirectory(prefix=peer, ignore_cleanup_errors=True) as folder:
        flags = {
            "peer": _MODULES[peer],
            "workload": workload.name,
            "models": workload.models,
            "values": workloads.table_path(workload.name),
            "folder": folder,
        }
        command = [
            str(python),
            "-m",
            "tests.benchmarks.peers.program",
            *(f"--{name}={value}" for name, value in flags.items()),
        ]
        its_own = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(python), "PYTHONWARNINGS": "ignore"}
        with _started(peer, command, {**env, **its_own}) as (run, seconds):
            rows = ROWS[peer][workload.name]
            yield {peer: Way(run, rows, scores="all", step=different(workload.name), started=seconds)}


@contextlib.contextmanager
def _started(
    peer: str, command: list[str], env: Mapping[str, str]
) -> Iterator[tuple[Callable[[int], Run], float]]:
    log = log_path(f"bench-{peer}")
    start = time.perf_counter()
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=env,
            cwd=ROOT,
            start_new_session=True,
        )
    try:
        _next(process, log)
        yield functools.partial(_run, process, log), time.perf_counter() - start
    finally:
        _end(process)


def _run(process: subprocess.Popen[bytes], log: Path, rows: int) -> Run:
    assert process.stdin is not None
    process.stdin.write(f"{rows}\n".encode())
    process.stdin.flush()
    return Run(**_next(process, log))


def _next(process: subprocess.Popen[bytes], log: Path) -> dict[str, Any]:
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], SECONDS)[0]:
        raise CommandFailed(f"{process.args!r} said nothing for {SECONDS} s:\n{tail(log)}")
    line = process.stdout.readline()
    if not line:
        raise CommandFailed(f"{process.args!r} ended:\n{tail(log)}")
    found: dict[str, Any] = json.loads(line)
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    """Lets a peer end by itself, with all that it started; then ends what is left."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)
    process.stdout.close()
    stop(process)
