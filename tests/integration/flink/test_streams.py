"""A stream on a real Flink cluster goes on with a new model, and no row is scored twice."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.cli.main import main
from scripts.layout import PYTHON
from scripts.pipelines import Servers, portable
from scripts.processes import running
from scripts.shell import log_path, tail
from tests.support.flink import Flink
from tests.support.patience import SECONDS, wait_until
from tests.support.streams import save_line, times, write

pytestmark = pytest.mark.timeout(2 * SECONDS)
PIPELINE = Path(__file__).with_name("stream.py")
LOG = log_path("flink-stream")
REFUSED = "a new version is beyond the limits of the lock"
"""What workers log when the gate refuses a version."""


class Stream:
    """An ensemble that the pipeline runs, and what has become of its rows.

    Args:
        folder: The folder of the ensemble and its models; what becomes of the rows goes there, too.
        file: The ensemble file, among those of ``tests.support.streams``.
    """

    def __init__(self, folder: Path, file: str) -> None:
        self._folder, self._notes = folder, folder / "notes"
        self._notes.touch()
        for name in ("first", "second"):
            save_line(folder / f"{name}.joblib", 1)
        self.flags = ("--ensemble", str(folder / file), str(self._notes))

    def replace_model(self, name: str, slope: int) -> None:
        """Puts another file instead of a model."""
        new = self._folder / "model.new"
        save_line(new, slope)
        os.replace(new, self._folder / f"{name}.joblib")

    def replace_lock(self) -> None:
        """Puts the lock of models that multiply by 3 in place."""
        for name in ("lock.parquet", "lock.yaml"):
            os.replace(self._folder / f"gated_3.{name}", self._folder / f"gated.{name}")

    def scored(self) -> list[tuple[float, int, int]]:
        """Returns the rows that came out: the number, and by what the models multiplied it."""
        lines = self._notes.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
        return [(float(x), int(one), int(two)) for x, one, two in map(str.split, lines)]

    def wait_for(self, *slopes: int) -> None:
        """Waits until rows have been scored by models with these slopes."""
        wait_until(lambda: slopes in (row[1:] for row in self.scored()), lambda: tail(LOG))


@pytest.fixture(scope="module")
def streams(
    flink: Flink, on_flink: Servers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Stream, Stream]]:
    """One job that scores every number with two ensembles, until the tests are over: the second one has a gate."""
    flink.cluster.replace_dead_task_managers()
    free, guarded = (tmp_path_factory.mktemp(name) for name in ("times", "gated"))
    (free / "times.yaml").write_text(times("first", "second"), encoding="utf-8")
    write(guarded)
    both = Stream(free, "times.yaml"), Stream(guarded, "gated.yaml")
    flags = [word for one in both for word in one.flags]
    with running([PYTHON, PIPELINE, "--streaming", *flags, *portable(on_flink)], log=LOG):
        for one in both:
            one.wait_for(1, 1)
        yield both
        flink.cluster.rest.cancel(flink.cluster.rest.jobs()[-1]["jid"])


def metrics(capsys: pytest.CaptureFixture[str], *flags: str) -> Any:
    """Returns what ``beam-ensembles metrics`` says of a job's ensembles."""
    code = main(["metrics", "--json", *flags])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return json.loads(out)["ensembles"]


def test_it_goes_on_with_a_new_model(
    flink: Flink, streams: tuple[Stream, Stream], capsys: pytest.CaptureFixture[str]
) -> None:
    stream, _ = streams
    stream.replace_model("first", 2)
    stream.wait_for(2, 1)
    rows = stream.scored()
    assert set(Counter(x for x, *_ in rows).values()) == {1}, "none came twice"
    assert {(one, two) for _, one, two in rows} == {(1, 1), (2, 1)}
    job = flink.cluster.rest.jobs()[-1]
    assert job["state"] == "RUNNING"
    assert metrics(capsys, "--flink", flink.cluster.rest.url, "--job", job["jid"]) == [], (
        "Beam's runner gives Flink the metrics when a stream ends: docs/reference/metrics.md says so"
    )


def test_it_refuses_a_model_that_the_lock_does_not_allow(
    flink: Flink, streams: tuple[Stream, Stream]
) -> None:
    _, stream = streams
    log = flink.workers_log
    before = log.read_text(encoding="utf-8").count(REFUSED)
    stream.replace_model("first", 2)
    wait_until(lambda: log.read_text(encoding="utf-8").count(REFUSED) > before, lambda: tail(log))
    refused = len(stream.scored())
    wait_until(lambda: len(stream.scored()) > refused + 20, lambda: tail(LOG))
    stream.replace_lock()
    for name in ("first", "second"):
        stream.replace_model(name, 3)
    stream.wait_for(3, 3)
    rows = stream.scored()
    assert set(Counter(x for x, *_ in rows).values()) == {1}, "none came twice"
    assert sorted(x for x, *_ in rows) == [at + 1.0 for at in range(len(rows))], "none is lost"
    assert {(one, two) for _, one, two in rows} == {(1, 1), (3, 3)}, "none is scored by the refused model"
