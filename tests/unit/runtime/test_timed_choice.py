"""Which of two ways is taken, by what they took."""

from __future__ import annotations

from beam_ensembles.runtime.timed_choice import RUNS, Trials


def taken(plain: float, other: float, runs: int) -> list[bool]:
    """Returns in which runs the other way is taken, where each way always takes as long."""
    trials, found = Trials(), []
    for _ in range(runs):
        found.append(trials.takes_other)
        trials.took(other if found[-1] else plain)
    return found


def test_the_faster_way_is_taken_and_both_are_tried_anew() -> None:
    period = [False, True, *[True] * RUNS]
    assert taken(plain=2, other=1, runs=1 + 2 * len(period)) == [False, *period, *period]


def test_the_plain_way_is_taken_where_the_other_one_is_no_faster() -> None:
    assert sum(taken(plain=1, other=1, runs=100 * (RUNS + 2))) == 100


def test_the_first_run_does_not_count() -> None:
    trials = Trials()
    trials.took(1_000)
    trials.took(1)
    trials.took(2)
    assert not trials.takes_other
