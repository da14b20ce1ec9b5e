"""Calls stop when a budget is spent, and go on in the next period."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from beam_ensembles.errors import BatchFailed
from beam_ensembles.handlers.remote.budget import Budget, Price


class Clock:
    now = datetime.datetime(2026, 12, 31, 22, 30, tzinfo=datetime.UTC)

    def __call__(self) -> datetime.datetime:
        return self.now


def refused(budget: Budget) -> str:
    with pytest.raises(BatchFailed) as caught:
        budget.check()
    assert caught.value.code == "budget_spent"
    return caught.value.message


@pytest.mark.parametrize(
    ("period", "next_time"),
    [("hour", "2026-12-31 23:00"), ("day", "2027-01-01 00:00"), ("month", "2027-01-01 00:00")],
)
def test_tokens_of_a_period(state: Path, period: str, next_time: str) -> None:
    clock = Clock()
    budget, other = (Budget(("s", "n"), period, tokens=1_000, clock=clock) for _ in range(2))
    budget.spend(999, 0)
    other.check()
    other.spend(101, 0)
    expected = f"1,100 of 1,000 tokens of this {period} are spent; calls go on at {next_time} UTC"
    assert refused(budget) == expected
    clock.now += datetime.timedelta(hours=2)
    budget.check()


def test_dollars(state: Path) -> None:
    price = Price(0.25, 2.0, 0.025)
    budget = Budget(("s",), "day", usd=0.01, clock=Clock())
    assert price.of(1_000, 100, 400) == round((600 * 0.25 + 400 * 0.025 + 100 * 2) * 1_000)
    budget.spend(0, 9_999_999)
    budget.check()
    budget.spend(0, 1)
    assert refused(budget).startswith("$0.0100 of $0.01 of this day are spent")


def test_budgets_of_other_nodes_are_others(state: Path) -> None:
    Budget(("s", "a"), "day", tokens=1).spend(5, 0)
    Budget(("s", "b"), "day", tokens=1).check()
