"""Steps wait for those that they need, and tell what became of them."""

from __future__ import annotations

import threading

import pytest

from scripts.shell import CommandFailed
from scripts.steps import Missing, Outcome, Step, run_steps, show_failures
from tests.support.patience import SECONDS


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
