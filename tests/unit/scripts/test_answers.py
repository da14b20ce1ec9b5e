"""The comparison that the demo and the examples stand or fall with."""

from __future__ import annotations

from typing import Any

import pytest

from scripts import answers
from scripts.answers import TOLERANCE, Answer


def _answer(id_: int, label: str = "7", confidence: float = 0.5) -> Answer:
    return {"id": id_, "label": label, "confidence": confidence}


def _differences(one: Any, two: Any) -> list[str]:
    return answers.differences("Go", [{"id": 2, "x": one}], "Java", [{"id": 2, "x": two}])


def test_equal_answers_have_no_differences() -> None:
    assert answers.differences("Go", [_answer(1)], "Java", [_answer(1, confidence=0.5 + TOLERANCE / 2)]) == []


def test_another_text_is_a_difference() -> None:
    (problem,) = answers.differences("Go", [_answer(1), _answer(2)], "Java", [_answer(1), _answer(2, "8")])
    assert problem == "row 2, label: Go says 7, Java says 8"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (0.5, 0.5 + 2 * TOLERANCE),
        (1, "1"),
        (1, True),
        (0, None),
        ([1], [1, 2]),
        ({"a": 1}, [1]),
        (1e9, 1.1e9),
    ],
)
def test_other_values_are_a_difference(one: Any, two: Any) -> None:
    (problem,) = _differences(one, two)
    assert problem == f"row 2, x: Go says {one}, Java says {two}"


@pytest.mark.parametrize(
    ("one", "two"), [(1, 1.0), (1e9, 1e9 + 1), (None, None), ({"a": None}, {}), ([0.1], [0.1 + 1e-9])]
)
def test_values_that_languages_write_in_their_own_way_are_none(one: Any, two: Any) -> None:
    assert _differences(one, two) == []


def test_a_difference_in_a_list_of_rows_is_told_with_its_place() -> None:
    (problem,) = _differences([{"p": 1.0}, {"p": 2.0}], [{"p": 1.0}, {"p": 3.0}])
    assert problem == "row 2, x[1].p: Go says 2.0, Java says 3.0"


def test_a_lost_or_repeated_row_is_told() -> None:
    rows = [_answer(1), _answer(2)]
    assert answers.incomplete("Go", rows, rows) == []
    assert answers.incomplete("Go", [_answer(1)], rows)
    assert answers.incomplete("Go", [_answer(1), _answer(1)], rows)
