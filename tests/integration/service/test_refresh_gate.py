"""A stream on real Prism refuses models that its lock does not allow: no row is lost, none is scored by them."""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.metrics import ensemble_metrics
from beam_ensembles.transforms import RunEnsemble
from tests.support.patience import wait_until
from tests.support.prism import running_prism
from tests.support.streams import save_line, write_lock

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])

LASTS, PAUSE, INTERVAL = 30, 0.1, 0.2
"""Seconds of the whole stream, which all changes must fit into, between its rows, and between looks at files."""
FILE = """\
ensemble: times
inputs: {x: double}
nodes: {line: {model: sklearn, uri: line.joblib, inputs: [x], outputs: {y: double}}}
refresh: {gate: lock, max_shift: {y: 0.5}}
"""
Rows = RowTypeConstraint.from_fields([("x", float)])


class Note(beam.DoFn):
    """Appends what becomes of a row to a file: the number, and by what it was multiplied."""

    def __init__(self, path: str) -> None:
        self._path = path

    def process(self, row: beam.Row) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(f"{row.x} {round(row.y / row.x)}\n")


def noted(notes: Path) -> list[tuple[float, int]]:
    """Returns the whole lines of the file."""
    lines = notes.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    return [(float(x), int(slope)) for x, slope in (line.split() for line in lines)]


def wait_for(slope: int, notes: Path) -> None:
    """Waits until five rows have been scored by the model with this slope."""
    wait_until(
        lambda: sum(one[1] == slope for one in noted(notes)) >= 5,
        lambda: f"five rows are scored by {slope}: {Counter(row[1] for row in noted(notes))}",
    )


def save(folder: Path, slope: int) -> None:
    """Puts a whole new model where the old one is, as whoever publishes models does."""
    save_line(folder / "line.new", slope)
    os.replace(folder / "line.new", folder / "line.joblib")


def locked(folder: Path, slope: int) -> list[Path]:
    """Returns the golden rows and the lock of a model, written elsewhere."""
    other = folder / f"locked_{slope}"
    other.mkdir()
    return write_lock(other, FILE, "times", line=slope)


def change_all(folder: Path, notes: Path, lock: list[Path]) -> None:
    """Writes a model that the lock does not allow, then one with its own lock."""
    wait_for(1, notes)
    save(folder, 2)
    time.sleep(10 * INTERVAL)
    for path in lock:
        os.replace(path, folder / path.name)
    save(folder, 3)
    wait_for(3, notes)


@pytest.fixture(scope="module")
def options() -> Iterator[PipelineOptions]:
    with running_prism() as address:
        flags = ["--runner=PortableRunner", f"--job_endpoint={address}", "--environment_type=LOOPBACK"]
        yield PipelineOptions([*flags, "--streaming"])


def test_a_stream_refuses_a_model_that_the_lock_does_not_allow(
    tmp_path: Path, options: PipelineOptions
) -> None:
    file, notes = tmp_path / "times.yaml", tmp_path / "notes"
    notes.touch()
    file.write_text(FILE, encoding="utf-8")
    save(tmp_path, 1)
    for path in locked(tmp_path, 1):
        os.replace(path, tmp_path / path.name)
    lock = locked(tmp_path, 3)
    pipeline = beam.Pipeline(options=options)
    start = time.time()
    ticks = pipeline | PeriodicImpulse(start, start + LASTS, PAUSE)
    numbers = ticks | beam.Map(lambda at: round((at - start) / PAUSE) + 1.0)
    rows = numbers | "Rows" >> beam.Map(lambda x: beam.Row(x=x)).with_output_types(Rows)
    scored = rows | RunEnsemble(file, refresh_interval_secs=INTERVAL)
    scored | beam.ParDo(Note(str(notes)))
    with concurrent.futures.ThreadPoolExecutor(1) as changer:
        changes = changer.submit(change_all, tmp_path, notes, lock)
        result = pipeline.run()
        result.wait_until_finish()
        changes.result()
    found = noted(notes)
    assert sorted(x for x, _ in found) == [at + 1.0 for at in range(len(found))], "each number came once"
    assert len(found) >= LASTS / PAUSE
    assert {slope for _, slope in found} == {1, 3}, "none is scored by the refused model"
    (metrics,) = ensemble_metrics(result)
    assert metrics.refreshes >= 1
    assert metrics.refused_refreshes >= metrics.refused_refreshes_by_gate >= 1
    assert metrics.node("line").num_inferences == len(found), "golden rows are not counted"
