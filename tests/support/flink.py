"""A Flink cluster with a pool of Python workers, as the tests see it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from scripts.flink.cluster import Cluster


@dataclasses.dataclass(frozen=True)
class Flink:
    """A cluster that runs.

    Attributes:
        cluster: The cluster.
        workers: Where the pool of Python workers is.
        workers_log: What the pool says.
        workers_cache: Where its workers unpack bundles; nobody else does there.
    """

    cluster: Cluster
    workers: str
    workers_log: Path
    workers_cache: Path
