"""When ``make examples`` says that languages disagree."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.examples.agreement import disagreements, sample
from scripts.examples.streams import stream_problems

ROWS = [{"id": 1, "x": 0.5}, {"id": 2, "x": 1.5}]


def test_languages_that_answer_alike_agree() -> None:
    assert disagreements({"Python": ROWS, "Go": ROWS}, 2) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ([{"id": 1, "x": 0.5}], "Go has 1 answers for 2 rows, or other ids than theirs"),
        ([{"id": 1, "x": 0.5}, {"id": 2, "x": 1.6}], "row 2, x: Python says 1.5, Go says 1.6"),
    ],
)
def test_languages_that_do_not_are_told(other: list[dict[str, Any]], said: str) -> None:
    assert disagreements({"Python": ROWS, "Go": other}, 2) == [said]


@pytest.mark.parametrize("rows", [ROWS[:1], [*ROWS, ROWS[0]], []])
def test_rows_that_all_languages_lose_or_repeat_are_told(rows: list[dict[str, Any]]) -> None:
    found = disagreements({"Python": rows, "Go": rows}, 2)
    assert found == [f"Python has {len(rows)} answers, not one for each of 2 rows"]


def test_a_sample_is_short() -> None:
    lines = sample([{"id": at, "text": "x" * 500} for at in range(9)]).splitlines()
    assert len(lines) == 3
    assert all(len(line) == 200 and line.endswith("…") for line in lines)


def windows(*times: float, numbers: int = 8) -> list[dict[str, Any]]:
    return [{"id": at, "numbers": numbers, "times": one} for at, one in enumerate(times)]


def test_a_newer_model_may_come_in_another_window_in_each_language() -> None:
    assert stream_problems({"Python": windows(4, 4, 5), "Go": windows(4, 5, 5)}, 3) == []


@pytest.mark.parametrize(
    ("go", "said"),
    [
        (windows(4, 5), "Go has windows [0, 1], not 0 to 2"),
        ([*windows(4, 4), {"id": 2, "numbers": 7, "times": 5}], "Go has windows of [8, 8, 7] numbers"),
        (windows(4, 4, 4), "Go goes on with the first model: 4"),
        (windows(3, 4, 5), "row 0, times: Python says 4, Go says 3"),
    ],
)
def test_streams_that_lose_rows_or_keep_the_first_model_are_told(go: list[dict[str, Any]], said: str) -> None:
    assert stream_problems({"Python": windows(4, 4, 5), "Go": go}, 3) == [said]
