"""Wide tables on a terminal: no line is wrapped, and each part names its rows."""

from __future__ import annotations

import sys

import pytest

from beam_ensembles.cli.table_width import parts_of


@pytest.mark.parametrize(
    ("widths", "columns", "expected"),
    [
        ([10, 8, 8, 8], 42, [[0, 1, 2, 3]]),
        ([10, 8, 8, 8], 41, [[0, 1, 2], [0, 3]]),
        ([10, 8, 8, 8], 22, [[0, 1], [0, 2], [0, 3]]),
        ([10, 8, 8, 8], 21, [[0, 1, 2, 3]]),  # a column that does not fit beside the first one
        ([90], 80, [[0]]),
    ],
)
def test_the_parts_of_a_table(
    widths: list[int], columns: int, expected: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert parts_of(widths) == [list(range(len(widths)))]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert parts_of(widths) == expected
