"""``python -m tests.benchmarks.portable_ways``: scores rows from Python on a portable runner; prints the run.

A program of its own each time: so it is what the programs in Go and Java are, and may be ended where it waits for ever.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from scripts import servers
from scripts.layout import PYTHON
from scripts.pipelines import Servers, portable
from scripts.shell import Command
from scripts.toolchains import go
from tests.benchmarks import pipelines
from tests.benchmarks import workload as workloads
from tests.benchmarks.pipelines import ENSEMBLE
from tests.benchmarks.programs import run_program
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.workload import Workload, different

ROWS: Final = {"light": 1_310_720, "digits": 1_572_864}
"""Rows of the first long run: seconds of work; about eight starts where a start takes seconds."""


def build() -> None:
    """Builds Prism.

    Raises:
        Missing: there is no Go.
    """
    go.build_prism()


@contextlib.contextmanager
def portable_ways(workload: Workload) -> Iterator[dict[str, Way]]:
    """Gives the way to score a workload's rows from Python, on Prism."""
    with servers.prism() as prism:
        run, rows = scoring(workload, Servers("", prism)), ROWS[workload.name]
        yield {ENSEMBLE: Way(run, rows, scores="all", step=different(workload.name))}


def scoring(workload: Workload, at: Servers, *flags: str) -> Callable[[int], Run]:
    """Gives what scores rows from Python.

    Args:
        workload: The rows.
        at: Where the runner is, and the pool of workers.
        flags: Others of the program.
    """
    command: Command = [PYTHON, "-m", __name__, f"--workload={workload.name}", *portable(at), *flags]
    return lambda rows: run_program("python", [*command, f"--rows={rows}"])


def main(argv: Sequence[str] | None = None) -> int:
    """Scores; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--parts", type=int, default=1)
    known, runner = parser.parse_known_args(argv)
    workload = workloads.load(known.workload)
    done = pipelines.run_on(runner, workload, known.rows, known.parts)
    sys.stdout.write(json.dumps(dataclasses.asdict(done)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
