"""Rows a second of others that score batches in Python: Spark and Ray Data, in environments of their own.

Each is started once and scores all its runs: no run pays for the start of a JVM or of a cluster.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from typing import Final

from scripts.environments import locked_environment
from scripts.layout import ROOT
from scripts.toolchains import java
from tests.benchmarks import workload as workloads
from tests.benchmarks.programs import started
from tests.benchmarks.sampling import Way
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
        with started(peer, command, {**env, **its_own}) as (run, seconds):
            rows = ROWS[peer][workload.name]
            yield {peer: Way(run, rows, scores="all", step=different(workload.name), started=seconds)}
