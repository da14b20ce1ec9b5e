"""When ``make examples`` says that languages disagree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scripts.example import Example
from scripts.examples.agreement import disagreements, report, sample
from scripts.examples.streams import stream_problems
from scripts.pipelines import PROGRAMS

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


def write(example: Example, language: str, rows: list[Any], errors: list[Any], parquet: list[Any]) -> None:
    for path, lines in ((example.answers(language), rows), (example.errors(language), errors)):
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(parquet), example.as_parquet(language))


@pytest.mark.parametrize(
    ("errors", "parquet", "said"),
    [
        ([{"file": "b", "code": "wrong_value"}], [{"file": "a", "x": 1.5}], "the same answers"),
        (
            [{"file": "b", "code": "null_value"}],
            [{"file": "a", "x": 1.5}],
            "row b, code: Python says wrong_value",
        ),
        ([], [{"file": "a", "x": 1.5}], "Java has 0 answers for 1 rows"),
        ([{"file": "b", "code": "wrong_value"}], [{"file": "a", "x": 1.4}], "Java's Parquet says 1.4"),
    ],
)
def test_errors_and_parquet_are_compared_too(
    errors: list[Any], parquet: list[Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = Example("x", java="x.X", scored=1, failed=1, parquet=True, key="file", made=tmp_path)
    rows = [{"file": "a", "x": 1.5}]
    for language in PROGRAMS[:-1]:
        write(example, language.name, rows, [{"file": "b", "code": "wrong_value"}], rows)
    write(example, PROGRAMS[-1].name, rows, errors, parquet)
    assert report(example, PROGRAMS) == (said == "the same answers")
    assert said in " ".join(capsys.readouterr().out.split())


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
