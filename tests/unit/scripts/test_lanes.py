"""Lanes run side by side, the tasks of one in their order, and leave nothing running."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from scripts import lanes
from scripts.lanes import Task, run_lanes

MEET = """
import pathlib, sys
from tests.support.patience import wait_until
mine, other = map(pathlib.Path, sys.argv[1:])
mine.touch()
wait_until(other.exists)
print("they", "met")
"""


@pytest.fixture(autouse=True)
def own_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "log_path", lambda name: tmp_path / f"{name}.log")


def task(name: str, code: str, *arguments: object) -> Task:
    return Task(name, [sys.executable, "-c", code, *map(str, arguments)])


def test_lanes_run_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    both = [[task("one", MEET, one, other)], [task("other", MEET, other, one)]]
    assert run_lanes(both, os.environ) == []
    assert capsys.readouterr().out.count("they met") == 2


def test_a_lane_goes_on_after_a_failure_in_its_order(capsys: pytest.CaptureFixture[str]) -> None:
    fails = task("fails", "print('no' * 2); raise SystemExit(3)")
    assert run_lanes([[fails, task("then", "print('went on')")], []], os.environ) == ["fails"]
    out = capsys.readouterr().out
    assert re.search(r"nono\s+fails: ended with 3 after \d+ s(?s:.*)went on\s+then: ended with 0", out)


def test_what_runs_is_ended_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    code = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(3600)"

    def leave(_: object) -> None:
        if started.exists() and started.read_text():
            raise SystemExit(143)

    monkeypatch.setattr(lanes._Running, "tell", leave)
    with pytest.raises(SystemExit):
        run_lanes([[task("waits", code, started)]], os.environ)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
