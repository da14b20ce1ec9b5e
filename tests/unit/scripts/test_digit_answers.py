"""What the demo prints and leaves behind."""

from __future__ import annotations

from pathlib import Path

from scripts import answers, demo
from scripts.answers import Answer


def _answer(id_: int, label: str = "7", confidence: float = 0.5) -> Answer:
    members = {f"{member}_label": label for member in demo.MEMBERS}
    return {"id": id_, "label": label, "confidence": confidence, **members}


def test_accuracies_are_of_each_member_and_of_the_ensemble() -> None:
    found = demo.accuracies([_answer(1), {**_answer(2), "forest_label": "3"}], {1: "7", 2: "7"})
    assert found == {"forest": 0.5, "boost": 1.0, "network": 1.0, "ensemble": 1.0}


def test_what_is_written_is_ordered_when_read_and_holds_only_what_is_compared(tmp_path: Path) -> None:
    demo.write(tmp_path / "go.jsonl", [_answer(2), _answer(1)])
    expected = [{"id": id_, "label": "7", "confidence": 0.5} for id_ in (1, 2)]
    assert answers.read(tmp_path / "go.jsonl") == expected


def test_the_table_has_a_row_a_member_and_a_column_a_language() -> None:
    values = dict.fromkeys([*demo.MEMBERS, "ensemble"], 0.9)
    header, _, *rows = demo.table({"Python": values, "Go": values}).splitlines()
    assert header.split() == ["accuracy", "Python", "Go"]
    assert [row.split() for row in rows] == [[name, "0.9000", "0.9000"] for name in values]
