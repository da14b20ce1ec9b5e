"""A streaming pipeline on real Prism goes on with new models: no row is lost, none is scored by a mixture."""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from apache_beam.runners.runner import PipelineResult
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.metrics import EnsembleMetrics
from beam_ensembles.metrics.job_server import JobServer
from beam_ensembles.transforms import RunEnsemble
from tests.support.patience import wait_until
from tests.support.prism import running_prism
from tests.support.streams import save_line, times

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])

LASTS, PAUSE, INTERVAL = 30, 0.1, 0.2
"""Seconds of the whole stream, which all changes must fit into, between its rows, and between looks at files."""
Rows = RowTypeConstraint.from_fields([("x", float)])
Seen = tuple[float, str, int, int]


@pytest.fixture(scope="module")
def options() -> Iterator[PipelineOptions]:
    with running_prism() as address:
        flags = ["--runner=PortableRunner", f"--job_endpoint={address}", "--environment_type=LOOPBACK"]
        yield PipelineOptions([*flags, "--streaming"])


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Puts a whole new file where an old one may be, as whoever publishes models does."""
    new = path.with_suffix(".new")
    write(new)
    os.replace(new, path)


def save_model(path: Path, slope: int) -> None:
    replace(path, lambda new: save_line(new, slope))


def save_file(path: Path, first: str, second: str) -> None:
    replace(path, lambda new: new.write_text(times(first, second)))


class Note(beam.DoFn):
    """Appends what becomes of a row to a file: the number, the version, and the slopes of both models."""

    def __init__(self, path: str) -> None:
        self._path = path

    def process(self, row: beam.Row) -> None:
        line = f"{row.x} {row.provenance.digest} {round(row.one / row.x)} {round(row.two / row.x)}\n"
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(line)


def noted(path: Path) -> list[Seen]:
    """Returns the whole lines of the file."""
    lines = path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    found = [line.split() for line in lines]
    return [(float(x), digest, int(one), int(two)) for x, digest, one, two in found]


def wait_for(slopes: tuple[int, int], notes: Path) -> None:
    """Waits until five rows have been scored by models with these slopes."""
    wait_until(
        lambda: sum(one[2:] == slopes for one in noted(notes)) >= 5,
        lambda: f"five rows are scored by {slopes}: {Counter(row[1:] for row in noted(notes))}",
    )


def change_all(
    folder: Path, file: Path, notes: Path, options: PipelineOptions
) -> tuple[str, EnsembleMetrics]:
    """Replaces a model, then puts a file there that is wrong, then one with other models; gives the metrics then."""
    wait_for((1, 1), notes)
    save_model(folder / "first.joblib", 2)
    wait_for((2, 1), notes)
    save_file(file, "first", "lost")
    time.sleep(5 * INTERVAL)
    assert {row[2:] for row in noted(notes)} == {(1, 1), (2, 1)}, "the old version goes on"
    for name in ("third", "fourth"):
        save_model(folder / f"{name}.joblib", 3)
    save_file(file, "third", "fourth")
    wait_for((3, 3), notes)
    return metrics_meanwhile(options)


def metrics_meanwhile(options: PipelineOptions) -> tuple[str, EnsembleMetrics]:
    """The state of the job that runs, and what Prism has of its ensemble, as ``beam-ensembles metrics`` asks."""
    with JobServer(options.view_as(PortableOptions).job_endpoint) as server:
        (job,) = (one for one in server.jobs() if one.state == "RUNNING")
        (found,) = server.metrics(job.id)
        (after,) = (one for one in server.jobs() if one.id == job.id)
        return after.state, found


def counter(result: PipelineResult, name: str) -> int:
    found = result.metrics().query(beam.metrics.MetricsFilter().with_name(name))["counters"]
    return sum(one.committed for one in found)


def test_a_stream_goes_on_with_new_models_and_loses_nothing(tmp_path: Path, options: PipelineOptions) -> None:
    file, notes = tmp_path / "times.yaml", tmp_path / "notes"
    notes.touch()
    for name in ("first", "second"):
        save_model(tmp_path / f"{name}.joblib", 1)
    save_file(file, "first", "second")
    pipeline = beam.Pipeline(options=options)
    start = time.time()
    ticks = pipeline | PeriodicImpulse(start, start + LASTS, PAUSE)
    numbers = ticks | beam.Map(lambda at: round((at - start) / PAUSE) + 1.0)
    rows = numbers | "Rows" >> beam.Map(lambda x: beam.Row(x=x)).with_output_types(Rows)
    scored = rows | RunEnsemble(file, provenance=True, refresh_interval_secs=INTERVAL)
    scored | beam.ParDo(Note(str(notes)))
    with concurrent.futures.ThreadPoolExecutor(1) as changer:
        changes = changer.submit(change_all, tmp_path, file, notes, options)
        result = pipeline.run()
        result.wait_until_finish()
        state, meanwhile = changes.result()
    found = noted(notes)
    count = len(found)
    assert sorted(x for x, *_ in found) == [at + 1.0 for at in range(count)], "each number came once"
    assert count >= LASTS / PAUSE
    versions = {row[1:] for row in found}
    assert sorted(slopes for _, *slopes in versions) == [[1, 1], [2, 1], [3, 3]], "no mixture"
    assert len({digest for digest, *_ in versions}) == 3, "the digest goes with the models"
    assert state == "RUNNING", "the metrics could be read meanwhile"
    assert meanwhile.refreshes >= 2
    assert 0 < meanwhile.node("first").num_inferences <= count
    assert counter(result, "refreshes") >= 2
    assert counter(result, "refused_refreshes") >= 1
