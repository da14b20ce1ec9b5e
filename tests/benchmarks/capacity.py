"""``python -m tests.benchmarks.capacity``: how well ``plan --capacity`` predicts two task managers of Flink from one.

The run on one task manager gives the metrics of the nodes, and the time that its worker spends around them. The forest
is large, so that the work of the runner, which has no cores of its own, is little beside that of the workers. Each
worker has one core, as on machines of one core.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from pathlib import Path
from typing import Any, Final

import joblib
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from beam_ensembles import RunEnsemble
from beam_ensembles.metrics.capacity import Capacity, capacity_of
from beam_ensembles.metrics.job_server import JobServer
from beam_ensembles.processes.process_count import PROCESSES_VARIABLE
from scripts.flink.cluster import Options, cluster
from scripts.flink.install import install
from scripts.flink.stream import as_stream
from scripts.flink.workers import worker_pool
from scripts.members import train
from scripts.pipelines import Servers, portable
from scripts.shell import log_path
from tests.benchmarks import pipelines, workload
from tests.benchmarks.sampling import Run

TREES: Final = 600
ENSEMBLE: Final = "capacity"
FILE: Final = f"""\
ensemble: {ENSEMBLE}
inputs: {{pixels: "array<double>[64]"}}
nodes:
  forest:
    model: sklearn
    uri: forest.joblib
    method: predict_proba
    inputs: [pixels]
    outputs: {{probabilities: "array<double>[10]"}}
  digit: {{apply: argmax, inputs: [probabilities], outputs: {{digit: int64}}}}
outputs: [digit, probabilities]
"""
ROWS: Final = (131_072, 655_360)
"""Rows of the short and of the long run for each task manager."""
PART: Final = 4_096
"""Rows that a task makes at a time."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """A run.

    Attributes:
        rate: Rows a second.
        metrics: What its nodes have counted, as ``beam-ensembles metrics --json`` prints it.
    """

    rate: float
    metrics: dict[str, Any]


def make_ensemble(folder: Path) -> Path:
    """Writes an ensemble with a large forest of digits; returns its file."""
    pixels, digits = load_digits(return_X_y=True)
    forest = RandomForestClassifier(TREES, random_state=0).fit(pixels, digits)
    joblib.dump(forest, folder / "forest.joblib")
    file = folder / f"{ENSEMBLE}.yaml"
    file.write_text(FILE, encoding="utf-8")
    return file


def measured(file: Path, task_managers: int) -> Measured:
    """Scores rows on a cluster of task managers with one slot each."""
    logs = f"flink-capacity-{task_managers}"
    options = Options(task_managers=task_managers, slots=1, logs=logs)
    with (
        tempfile.TemporaryDirectory() as folder,
        worker_pool(log_path(f"{logs}-workers")) as workers,
        cluster(install(), Path(folder), options) as running,
    ):
        at = Servers("", running.job_server, workers)
        flags = [*map(str, portable(at)), f"--parallelism={task_managers}", *as_stream("Python", 4)]
        short, long = (_scored(file, count * task_managers, flags) for count in ROWS)
        with JobServer(running.job_server) as server:
            (ensemble,) = server.metrics(server.jobs()[-1].id)
        rate = (long.rows - short.rows) / (long.seconds - short.seconds)
        return Measured(rate, {"ensembles": [ensemble.as_data()]})


def _scored(file: Path, rows: int, flags: list[str]) -> Run:
    digits = workload.load("digits")
    ensemble = RunEnsemble(str(file))
    done, _ = pipelines.run_pipeline(
        digits,
        rows,
        lambda read: read | ensemble,
        lambda row: float(max(row.probabilities)),
        parts=rows // PART,
        flags=flags,
    )
    return done


def predicted(one: Measured, task_managers: int) -> Capacity:
    """Returns what more task managers can do, from what one did."""
    nodes = capacity_of(one.metrics, ENSEMBLE, around_micros=0.0)
    around = 1e6 * (1.0 / one.rate - nodes.seconds_per_row)
    return capacity_of(one.metrics, ENSEMBLE, workers=task_managers, around_micros=around)


def main() -> None:
    """Measures both, and prints what was predicted."""
    os.environ[PROCESSES_VARIABLE] = "1"
    os.environ["BEAM_ENSEMBLES_CORES"] = "1"
    train()
    workload.load("digits").write_values()
    with tempfile.TemporaryDirectory() as folder:
        file = make_ensemble(Path(folder))
        one = measured(file, 1)
        found = predicted(one, 2)
        print(f"1 task manager:  {one.rate:,.0f} rows/s", flush=True)
        print(
            f"  of {found.seconds_per_row * 1e6:.1f} µs per row, {found.around_seconds * 1e6:.1f} around the nodes"
        )
        two = measured(file, 2)
        off = found.rows_per_second / two.rate - 1
        print(f"2 task managers: {two.rate:,.0f} rows/s, predicted {found.rows_per_second:,.0f} ({off:+.1%})")


if __name__ == "__main__":
    main()
