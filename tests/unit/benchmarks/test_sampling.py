"""How long runs become, and what rate and start they give."""

from __future__ import annotations

import pytest

from scripts.shell import CommandFailed
from tests.benchmarks.sampling import Run, Way, measure


def _measured(
    start: float, rows: int, held_up: int | None = None, by: float = 2.0
) -> tuple[float, list[int]]:
    """Measures a way of 1,000 rows per second, one of whose runs takes so many seconds more.

    Returns:
        What part of a long run its start is, and the rows of all runs.
    """
    ran: list[int] = []

    def run(rows: int) -> Run:
        ran.append(rows)
        return Run(rows, start + rows / 1_000 + by * (len(ran) - 1 == held_up), 0.5)

    rate = measure({"way": Way(run, rows, step=8)}, 5, lambda _: None)["way"]
    assert rate.rows_per_second == pytest.approx(1_000)
    assert rate.start_seconds == pytest.approx(start)
    return rate.start_seconds / rate.long_seconds, ran


def test_runs_that_are_long_enough_stay_as_they_are() -> None:
    part, ran = _measured(start=1.0, rows=16_000)
    assert part == pytest.approx(1 / 17)
    assert set(ran) == {16_000, 2_000}


def test_runs_become_longer_where_a_start_is_much_of_them() -> None:
    part, ran = _measured(start=1.0, rows=8_000)
    assert part == pytest.approx(1 / 11, rel=0.01)
    assert ran == [1_000] * 4 + [8_000] + [10_000] * 4


def test_runs_become_at_most_three_times_as_long() -> None:
    _, ran = _measured(start=10.0, rows=8_000)
    assert max(ran) == 24_000


@pytest.mark.parametrize("by", [2.0, -0.5])
def test_one_start_that_is_unlike_the_others_changes_nothing(by: float) -> None:
    _, ran = _measured(start=1.0, rows=8_000, held_up=2, by=by)
    assert ran == [1_000] * 4 + [8_000] + [10_000] * 4


def test_a_way_whose_run_fails_is_left_out_and_the_others_go_on() -> None:
    def fails(rows: int) -> Run:
        if rows > 1_000:
            raise CommandFailed("it fails")
        return Run(rows, 2.0, 0.5)

    said: list[str] = []
    ways = {
        "fails": Way(fails, 8_000, step=8),
        "works": Way(lambda rows: Run(rows, 1.0 + rows / 1_000, 0.5), 8_000, step=8),
    }
    assert list(measure(ways, 5, said.append)) == ["works"]
    assert "fails is left out: it fails" in said
