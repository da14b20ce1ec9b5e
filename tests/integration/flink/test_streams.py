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
from tests.support.streams import save_line, times

pytestmark = pytest.mark.timeout(2 * SECONDS)
PIPELINE = Path(__file__).with_name("stream.py")
LOG = log_path("flink-stream")


class Stream:
    """The pipeline while it runs.

    Args:
        folder: An empty folder, of the ensemble and its models, and of what becomes of the rows.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._notes = folder, folder / "notes"
        self._notes.touch()
        for name in ("first", "second"):
            save_line(folder / f"{name}.joblib", 1)
        (folder / "times.yaml").write_text(times("first", "second"), encoding="utf-8")
        self.flags = ("--streaming", f"--ensemble={folder / 'times.yaml'}", f"--notes={self._notes}")

    def replace_first_model(self, slope: int) -> None:
        """Puts another file instead of the first model."""
        new = self._folder / "first.new"
        save_line(new, slope)
        os.replace(new, self._folder / "first.joblib")

    def scored(self) -> list[tuple[float, int, int]]:
        """Returns the rows that came out: the number, and by what the models multiplied it."""
        lines = self._notes.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
        return [(float(x), int(one), int(two)) for x, one, two in map(str.split, lines)]

    def wait_for(self, *slopes: int) -> None:
        """Waits until rows have been scored by models with these slopes."""
        wait_until(lambda: slopes in (row[1:] for row in self.scored()), lambda: tail(LOG))


@pytest.fixture
def stream(flink: Flink, on_flink: Servers, tmp_path: Path) -> Iterator[Stream]:
    """A stream that runs, and is ended after the test."""
    flink.cluster.replace_dead_task_managers()
    made = Stream(tmp_path)
    with running([PYTHON, PIPELINE, *made.flags, *portable(on_flink)], log=LOG):
        made.wait_for(1, 1)
        yield made
        flink.cluster.rest.cancel(flink.cluster.rest.jobs()[-1]["jid"])


def metrics(capsys: pytest.CaptureFixture[str], *flags: str) -> Any:
    """Returns what ``beam-ensembles metrics`` says of a job's ensembles."""
    code = main(["metrics", "--json", *flags])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return json.loads(out)["ensembles"]


def test_it_goes_on_with_a_new_model(
    flink: Flink, stream: Stream, capsys: pytest.CaptureFixture[str]
) -> None:
    stream.replace_first_model(2)
    stream.wait_for(2, 1)
    rows = stream.scored()
    assert set(Counter(x for x, *_ in rows).values()) == {1}, "none came twice"
    assert {(one, two) for _, one, two in rows} == {(1, 1), (2, 1)}
    job = flink.cluster.rest.jobs()[-1]
    assert job["state"] == "RUNNING"
    assert metrics(capsys, "--flink", flink.cluster.rest.url, "--job", job["jid"]) == [], (
        "Beam's runner gives Flink the metrics when a stream ends: docs/reference/metrics.md says so"
    )
