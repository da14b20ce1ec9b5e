"""Cells by type: what is read, and what stays text for the ensemble to refuse."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from beam_ensembles.tables.cells import cells_of_values, values_of_cells
from beam_ensembles.tables.json_text import JsonNumber
from beam_ensembles.types import parse_type


@pytest.mark.parametrize(
    ("type_", "cells", "values"),
    [
        ("double", ["1", "-2.5e3", " 3 ", "inf"], [1.0, -2500.0, 3.0, math.inf]),
        ("double", ["1", "", "x", "1_0", "1,5"], [1.0, None, "x", "1_0", "1,5"]),
        ("float", ["0.1"], [0.1]),
        ("int64", ["1", "-2", "123456789012345678901234567890"], [1, -2, 123456789012345678901234567890]),
        ("int32", ["1", "", "1.0", "1e3", "-0", "+1.50e1"], [1, None, 1, 1000, 0, 15]),
        (
            "int32",
            ["0x1", "1_0", "1.5", "1e400", "nan", "1e-999999999"],
            ["0x1", "1_0", "1.5", "1e400", "nan", "1e-999999999"],
        ),
        ("int64", ["9007199254740993.0"], [9007199254740993]),
        ("double", ["1e400", "-1e400", "inf", "-Infinity"], ["1e400", "-1e400", math.inf, -math.inf]),
        ("array<double>[2]", ["[1e400, 1]"], [[JsonNumber("1e400"), 1]]),
        ("boolean", ["true", "False", "TRUE", "1", "0"], [True, False, True, True, False]),
        ("boolean", ["yes", "", "2", "true"], ["yes", None, "2", True]),
        ("string", ["1", " ", "null"], ["1", " ", "null"]),
        ("string", ["", "a"], [None, "a"]),
        ("double?", ["", "1"], [None, 1.0]),
        ("bytes", ["AAH/", "not base64"], [b"\x00\x01\xff", "not base64"]),
        ("array<double>[2]", ["[1, 2.5]", "[1", "", "7"], [[1, 2.5], "[1", None, 7]),
        ("array<double>", ["[" * 100_000], ["[" * 100_000]),
        ("array<bytes>", ['["AA=="]'], [[b"\x00"]]),
        ("map<string,bytes>", ['{"k": "AA=="}'], [{"k": b"\x00"}]),
        ("row<a: bytes, b: double>", ['{"a": "AA==", "b": 1, "c": 2}'], [{"a": b"\x00", "b": 1, "c": 2}]),
        ("timestamp", ["2024-05-01", "May"], [datetime.datetime(2024, 5, 1), "May"]),
    ],
)
def test_cells_are_read_by_type(type_: str, cells: list[str], values: list[Any]) -> None:
    found = values_of_cells(cells, parse_type(type_))
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize("type_", ["int64", "double"])
def test_a_number_with_more_digits_than_python_reads(type_: str) -> None:
    cell = "9" * 5_000
    assert values_of_cells([cell], parse_type(type_)) == [cell]


def test_cells_are_written() -> None:
    values = [None, True, 1, 0.1, "a", [1, "ü"], {"k": None}, b"\x00", datetime.date(2024, 5, 1)]
    written = ["true", 1, 0.1, "a", '[1, "ü"]', '{"k": null}', "AA==", "2024-05-01"]
    assert list(cells_of_values(values)) == [None, *written]
