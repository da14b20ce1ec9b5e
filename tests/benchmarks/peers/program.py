"""``python -m tests.benchmarks.peers.program``: a peer, started once, that scores on request.

Each line of its input says how many rows; it prints the run. It runs in an environment of its own, without Beam and
without this project.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from tests.benchmarks import bare
from tests.benchmarks.bare import Bare
from tests.benchmarks.sampling import Run
from tests.benchmarks.workload import ARROW_BATCH, BATCH

CORES = len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Work:
    """What is to be done.

    Attributes:
        name: The workload.
        models: The folder of its models.
        values: The file of its values.
        folder: For what the peer writes.
    """

    name: str
    models: Path
    values: Path
    folder: Path

    @property
    def bare(self) -> Bare:
        """Its models."""
        return bare.load_bare(self.name)

    @property
    def batch_rows(self) -> int:
        """Rows that go through a model at once: those of a batch from Go or Java, where it takes whole batches."""
        return ARROW_BATCH if self.bare.ROWS == BATCH else self.bare.ROWS

    @property
    def table(self) -> pa.Table:
        """Its values; row ``i`` has those of row ``i % len(table)``."""
        return bare.read_table(self.values)


class Peer(Protocol):
    """A peer that has been started."""

    def wake(self) -> None:
        """Gets ready for a run, after a time in which others were measured."""

    def score(self, rows: int) -> tuple[int, float]:
        """Scores rows; gives how many came out and the sum of their answers."""


Start = Callable[[Work], contextlib.AbstractContextManager[Peer]]


def main() -> int:
    """Starts a peer, says so, and scores until the input ends; gives the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, help="a module of this package")
    parser.add_argument("--workload", required=True)
    for name in ("models", "values", "folder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    work = Work(given.workload, given.models, given.values, given.folder)
    peers = importlib.import_module(f"tests.benchmarks.peers.{given.peer}")
    start: Start = peers.started
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed goes to the log
    with start(work) as peer:
        print("{}", file=out, flush=True)
        for line in sys.stdin:
            peer.wake()
            done = _timed(peer, int(line))
            print(json.dumps(dataclasses.asdict(done)), file=out, flush=True)
    return 0


def _timed(peer: Peer, rows: int) -> Run:
    start = time.perf_counter()
    count, total = peer.score(rows)
    seconds = time.perf_counter() - start
    if count != rows:
        raise RuntimeError(f"{rows} rows went in, {count} came out")
    return Run(rows, seconds, total / rows)


if __name__ == "__main__":
    sys.exit(main())
