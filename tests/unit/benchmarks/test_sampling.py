"""How long runs become, and what rate and start they give."""

from __future__ import annotations

import pytest

from tests.benchmarks.sampling import Run, Way, measure


def _measured(
    start: float, rows: int, held_up: int | None = None, by: float = 2.0
) -> tuple[float, list[int]]:
    """Measures a way of 1,000 rows a second, one of whose runs takes so many seconds more.

    Returns:
        What part of a long run its start is, and the rows of all runs.
    """
    ran: list[int] = []

    def run(rows: int) -> Run:
        ran.append(rows)
        return Run(rows, start + rows / 1_000 + by * (len(ran) - 1 == held_up), 0.5)

    rate = measure({"way": Way(run, rows, scores="all", step=8)}, 5, lambda _: None)["way"]
    assert rate.rows_per_second == pytest.approx(1_000)
    assert rate.start_seconds == pytest.approx(start)
    return rate.start_seconds / rate.long_seconds, ran


def test_runs_that_are_long_enough_stay_as_they_are() -> None:
    part, ran = _measured(start=1.0, rows=16_000)
    assert part == pytest.approx(1 / 17)
    assert set(ran) == {16_000, 2_000}


def test_runs_become_longer_where_a_start_is_much_of_them() -> None:
    part, ran = _measured(start=1.0, rows=8_000)
    assert part == pytest.approx(1 / 12, rel=0.01)
    assert ran == [1_000, 8_000, 1_000, 11_000, 1_000, 11_000, 1_000, 11_000, 11_000]


def test_runs_become_at_most_three_times_as_long() -> None:
    _, ran = _measured(start=10.0, rows=8_000)
    assert max(ran) == 24_000


def test_one_start_that_took_long_makes_the_runs_longer_only_until_another_is_seen() -> None:
    _, ran = _measured(start=1.0, rows=16_000, held_up=2)
    assert ran[:3] == [2_000, 16_000, 2_000]  # a warm-up, the first turn
    assert min(ran[3], ran[5]) > 16_000
    assert [ran[4], *ran[6:]] == [2_000, 2_000, 16_000, 16_000]


def test_one_start_that_was_quick_shortens_runs_no_longer_than_until_another_is_seen() -> None:
    _, ran = _measured(start=1.0, rows=8_000, held_up=2, by=-0.5)
    assert ran[:5] == [1_000, 8_000, 1_000, 8_000, 1_000]
    assert ran[5:] == [11_000, 1_000, 11_000, 11_000]
