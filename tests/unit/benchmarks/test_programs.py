"""Programs that are started once and make all runs: one that answers, ones that are silent, ones that end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.shell import CommandFailed
from tests.benchmarks import programs
from tests.benchmarks.programs import started
from tests.benchmarks.sampling import Run

_PROGRAM = """
import json, os, pathlib, sys, time

starts = pathlib.Path(sys.argv[1])
with starts.open("a") as file:
    print(os.getpid(), file=file)
start = len(starts.read_text().split())
ready = "print('{}', flush=True)"
answer = "print(json.dumps({'rows': rows, 'seconds': 1.0, 'answer': start}), flush=True)"
exec(ready if len(sys.argv) < 4 else sys.argv[3])
for line in sys.stdin:
    rows = int(line)
    exec(sys.argv[2] or answer)
"""
"""Writes its process id to a file, and does with a line what it is told: without, it answers how often it started."""

_SILENT = "time.sleep(60)"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "_END_SECONDS", 0.2)
    monkeypatch.setattr(programs, "log_path", lambda name: tmp_path / f"{name}.log")


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "SECONDS", 3.0)


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., list[str]]:
    return lambda *does: [sys.executable, "-I", "-S", "-c", _PROGRAM, str(tmp_path / "starts"), *does]


@pytest.fixture
def processes(tmp_path: Path) -> Callable[[], list[str]]:
    """Returns the ids of the processes that were started."""
    return lambda: (tmp_path / "starts").read_text(encoding="utf-8").split()


Command = Callable[..., list[str]]
Processes = Callable[[], list[str]]


def _runs(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    return True


def test_one_start_makes_all_runs(command: Command, processes: Processes) -> None:
    with started("fake", command("")) as (run, seconds):
        assert [run(8), run(16)] == [Run(8, 1.0, 1), Run(16, 1.0, 1)]
        assert seconds > 0
        assert len(processes()) == 1
    assert not _runs(processes()[0])


def test_lines_that_come_together_are_each_an_answer(command: Command) -> None:
    ready = "print('{}\\n' + json.dumps({'rows': 8, 'seconds': 1.0, 'answer': 5}), flush=True)"
    with started("fake", command("pass", ready)) as (run, _):
        assert run(8) == Run(8, 1.0, 5)


@pytest.mark.usefixtures("_impatient")
def test_a_program_that_is_silent_is_started_anew_for_that_run(
    command: Command, processes: Processes
) -> None:
    with started("fake", command(f"{_SILENT} if start == 1 else exec(answer)")) as (run, _):
        assert run(8) == Run(8, 1.0, 2)
        assert run(16) == Run(16, 1.0, 2)
        first, second = processes()
        assert not _runs(first)
    assert not _runs(second)


@pytest.mark.usefixtures("_impatient")
def test_a_program_that_is_silent_twice_is_ended(command: Command, processes: Processes) -> None:
    with started("fake", command(_SILENT)) as (run, _):
        with pytest.raises(CommandFailed, match="fake said nothing for"):
            run(8)
        assert [_runs(process) for process in processes()] == [False, False]
        with pytest.raises(CommandFailed, match="fake has ended"):
            run(8)


def test_a_program_that_ends_is_not_started_anew(command: Command, processes: Processes) -> None:
    with started("fake", command("sys.exit('no rows')")) as (run, _):
        for _ in range(2):
            with pytest.raises(CommandFailed, match="fake ended:\nno rows"):
                run(8)
        assert len(processes()) == 1


@pytest.mark.usefixtures("_impatient")
def test_a_program_that_does_not_get_ready(command: Command, processes: Processes) -> None:
    with (
        pytest.raises(CommandFailed, match="fake ended:\nno model"),
        started("fake", command("", "sys.exit('no model')")),
    ):
        pass
    with pytest.raises(CommandFailed, match="fake said nothing"), started("fake", command("", _SILENT)):
        pass
    assert not any(map(_runs, processes()))
