"""Rows that cannot be read are faults of their own, with their number and their text."""

from __future__ import annotations

from pathlib import Path

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.tables.formats import Columns, open_reader
from beam_ensembles.types import parse_type

COLUMNS = Columns({"x": parse_type("double")}, (("label", parse_type("string")),))


def read(path: Path, content: bytes, size: int = 3) -> tuple[list[int], list[tuple[int, str, str]]]:
    """Returns the numbers of the rows that can be read, and number, text and reason of each other."""
    path.write_bytes(content)
    chunks = list(open_reader(str(path), COLUMNS, "out.jsonl").chunks(size))
    assert all(len(chunk) + len(chunk.faults) <= size for chunk in chunks)
    assert {fault.error.code for chunk in chunks for fault in chunk.faults} <= {"bad_line", "column_exists"}
    faults = [
        (fault.number, fault.element, fault.error.message) for chunk in chunks for fault in chunk.faults
    ]
    return [number for chunk in chunks for number in chunk.numbers], faults


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1", "the row has 1 cells, and the header has 2"),
        (b"1,2,3", "the row has 3 cells, and the header has 2"),
        (b"1,M\xfcller", "the row is not UTF-8"),
        (b'1,"a"b', "the line is not CSV: ',' expected after '\"'"),
    ],
)
def test_bad_lines_of_csv(tmp_path: Path, line: bytes, reason: str) -> None:
    content = b'x,y\n1,a\n\n2,"b\n\nc"\n' + line + b"\r\n4,d\n5,e\n"
    good, faults = read(tmp_path / "rows.csv", content)
    assert good == [1, 2, 4, 5]
    assert faults == [(3, line.decode("utf-8", "backslashreplace"), reason)]


def test_a_quote_that_is_never_closed_does_not_hide_rows(tmp_path: Path) -> None:
    good, faults = read(tmp_path / "rows.csv", b'x,y\n1,a\n2,"b\n3,c\n')
    assert good == [1]
    assert faults == [(2, '2,"b\n3,c', "the line is not CSV: unexpected end of data")]


def test_long_cells_are_read(tmp_path: Path) -> None:
    assert read(tmp_path / "rows.csv", b"x,y\n1," + b"a" * 300_000 + b"\n") == ([1], [])


def test_a_header_that_is_not_utf_8(tmp_path: Path) -> None:
    with pytest.raises(InvalidEnsemble, match=r"\[bad_file\] input: the header line is not UTF-8"):
        read(tmp_path / "rows.csv", b"x,M\xfcller\n1,2\n")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[1]", "expected a JSON object, found a list"),
        (b"7", "expected a JSON object, found the number 7"),
        (b"null", "expected a JSON object, found nothing"),
        (b'{"x": 1', "the line is not JSON: Expecting ',' delimiter: line 1 column 8 (char 7)"),
        (b'{"x": 1} {"x": 2}', "the line is not JSON: Extra data: line 1 column 10 (char 9)"),
        (b'{"x": "M\xfcller"}', "the line is not UTF-8"),
        (b'{"x": "\\ud800"}', "the line holds half a surrogate pair, which is not a character"),
        (b'{"x": 1, "y": 2, "x": 3}', "an object of the line has x more than once, and only one can count"),
        (b'{"x": {"y": 2, "y": 2}}', "an object of the line has y more than once, and only one can count"),
        (b'{"x": 1, "label": 2}', "the row has a field label already, which the ensemble would hide"),
    ],
)
def test_bad_lines_of_json(tmp_path: Path, line: bytes, reason: str) -> None:
    good, faults = read(
        tmp_path / "rows.jsonl", b'{"x": 1}\n \n' + line + b'\n{"x": 3}\n{"x": 4}\r\n{"x": 5}'
    )
    assert good == [1, 3, 4, 5]
    assert faults == [(2, line.decode("utf-8", "backslashreplace"), reason)]


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"x": ' + b"9" * 5_000 + b"}"])
def test_lines_that_python_will_not_read(tmp_path: Path, line: bytes) -> None:
    good, faults = read(tmp_path / "rows.jsonl", line + b'\n{"x": 1}\n')
    assert good == [2]
    assert faults[0][2].startswith("the line is not JSON")
    assert "set_int_max_str_digits" not in faults[0][2]
