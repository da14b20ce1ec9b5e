"""Steps wait for those that they need, and tell what became of them."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scripts.layout import ROOT
from scripts.shell import CommandFailed, Missing
from scripts.steps import Outcome, Step, run_steps, show_failures
from tests.support.patience import SECONDS, wait_until


def _raising(error: Exception) -> Step:
    def work() -> str:
        raise error

    return Step("bad", "trying", work)


def test_a_step_runs_after_those_that_it_needs() -> None:
    order: list[str] = []

    def noting(name: str, *after: str) -> Step:
        def work() -> str:
            order.append(name)
            return "done"

        return Step(name, "", work, after=after)

    assert run_steps([noting("first"), noting("second", "first")]) == dict.fromkeys(order, Outcome())
    assert order == ["first", "second"]


def test_steps_that_do_not_need_one_another_run_side_by_side() -> None:
    meeting = threading.Barrier(2)
    steps = [Step(name, "", lambda: str(meeting.wait(SECONDS))) for name in ("one", "other")]
    assert all(outcome.well for outcome in run_steps(steps).values())


def test_what_needs_something_missing_is_missing_for_the_same_reason() -> None:
    after = Step("after", "", lambda: "done", after=("bad",))
    outcomes = run_steps([_raising(Missing("get it there")), after])
    assert outcomes == {"bad": Outcome(missing="get it there"), "after": Outcome(missing="get it there")}
    assert not show_failures(outcomes)


def test_a_failure_is_shown_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    after = Step("after", "", lambda: "done", after=("bad",))
    outcomes = run_steps([_raising(CommandFailed("the end of the log")), after])
    assert outcomes["bad"] == Outcome(failed="the end of the log")
    assert not outcomes["after"].well
    assert show_failures(outcomes)
    assert "bad failed: the end of the log" in capsys.readouterr().out


def test_a_step_behind_another_runs_after_it_even_if_it_fails(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = run_steps(
        [_raising(CommandFailed("no")), Step("then", "", lambda: "went on", behind=("bad",))]
    )
    assert outcomes == {"bad": Outcome(failed="no"), "then": Outcome()}
    assert re.search(r"FAIL  bad(?s:.*)ok  then", capsys.readouterr().out)


def test_commands_are_ended_with_what_they_started_if_we_are(tmp_path: Path) -> None:
    """As Ctrl-C does; a step behind the one that runs starts nothing more."""
    started, later = tmp_path / "started", tmp_path / "later"
    command = ["sh", "-c", f"sleep 3600 & echo $! $$ > {started}.new; mv {started}.new {started}; wait"]
    code = f"""
import os, pathlib, signal, threading, time
from scripts.shell import run
from scripts.steps import Step, run_steps

def interrupt():
    while not os.path.exists({str(started)!r}):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
log = pathlib.Path({str(tmp_path / "log")!r})
run_steps([
    Step("waits", "", lambda: run({command!r}, log=log) or ""),
    Step("later", "", lambda: run(["touch", {str(later)!r}], log=log) or "", behind=("waits",)),
])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert "KeyboardInterrupt" in done.stderr
    for process in map(int, started.read_text(encoding="utf-8").split()):
        wait_until(lambda process=process: not _runs(process))
    assert not later.exists()


def _runs(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
