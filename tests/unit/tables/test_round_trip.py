"""Every format to every format: the rows' own fields stay what they are, the answers are the same."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.tables.chunk import Fault
from beam_ensembles.tables.formats import Columns, open_reader, open_writer
from beam_ensembles.types import parse_type

ADDED = (
    ("label", parse_type("string")),
    ("p", parse_type("array<double>[2]")),
    ("sure", parse_type("boolean")),
)
INPUTS = {
    "x": "double", "n": "int64", "ok": "boolean", "t": "string", "v": "array<double>[2]", "m": "map<string,int64>",
    "raw": "bytes", "at": "timestamp",
}  # fmt: skip


def columns(**inputs: str) -> Columns:
    return Columns({name: parse_type(text) for name, text in inputs.items()}, ADDED)


def copy(source: Path, target: Path, about: Columns, size: int = 2) -> list[Fault]:
    """Copies all rows that can be read, each with the same answers; gives the others."""
    reader = open_reader(str(source), about, str(target))
    faults: list[Fault] = []
    with (
        target.open("wb") as file,
        contextlib.closing(open_writer(str(target), file, reader, about)) as writer,
    ):
        for chunk in reader.chunks(size):
            count = len(chunk)
            writer.write(chunk, list(range(count)), [["a, b"] * count, [[0.5, 0.5]] * count, [True] * count])
            faults += chunk.faults
            assert 0 < reader.done <= reader.total
    assert reader.done == reader.total or not reader.done
    return faults


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist(maps_as_pydicts="strict"))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=False, quoted_strings_can_be_null=False)
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    names = path.read_text(encoding="utf-8").split("\n", 1)[0].split(",")
    options.column_types = dict.fromkeys(names, pa.string())
    return list(pyarrow.csv.read_csv(path, parse_options=parse, convert_options=options).to_pylist())


TEXT = 'zwölf "Äpfel",\r\n三 🍎'
CSV_ROWS = [
    ["007", "1.50", "-3", "True", TEXT, "[1, 2.5]", '{"k": 1}', "AAH/", "2024-05-01T12:00:00+00:00", TEXT],
    ["", "1e3", "9007199254740993", "false", " b ", "[0,0]", "{}", "AQ==", "2024-05-01T12:00:00Z", ""],
    ["3", "-0.0", "0", "1", "c", "[1e-3,2]", '{"k": 1, "l": 2}', "AA==", "2024-05-01T14:00:00+02:00", "null"],
]
NAMES = ["id", *INPUTS, "note"]
NOON = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
NANOS = "2024-05-01T12:00:00.000000001"
VALUES: list[list[Any]] = [
    ["007", 1.5, -3, True, TEXT, [1.0, 2.5], {"k": 1}, b"\x00\x01\xff", NOON, TEXT],
    ["", 1000.0, 9007199254740993, False, " b ", [0.0, 0.0], {}, b"\x01", NOON, ""],
    ["3", 0.0, 0, True, "c", [0.001, 2.0], {"k": 1, "l": 2}, b"\x00", NOON, "null"],
]
ROWS = [dict(zip(NAMES, values, strict=True)) for values in VALUES]
JSON_TEXT = {b"\x00\x01\xff": "AAH/", b"\x01": "AQ==", b"\x00": "AA=="}
ANSWERS = {"label": "a, b", "p": [0.5, 0.5], "sure": True}


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def make_csv(path: Path, rows: list[list[str]] = CSV_ROWS, names: list[str] = NAMES, end: str = "\n") -> None:
    text = end.join(",".join(map(quoted, row)) for row in [names, *rows])
    path.write_bytes(text.encode() + end.encode())


def make_jsonl(path: Path) -> None:
    rows = [{**row, "raw": JSON_TEXT[row["raw"]], "at": "2024-05-01T12:00:00Z"} for row in ROWS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def make_parquet(path: Path) -> None:
    types = {"m": pa.map_(pa.string(), pa.int64())}
    pq.write_table(
        pa.table({name: pa.array([row[name] for row in ROWS], types.get(name)) for name in NAMES}), path
    )


MAKERS: dict[str, Callable[[Path], None]] = {".csv": make_csv, ".jsonl": make_jsonl, ".parquet": make_parquet}


@pytest.mark.parametrize("source", MAKERS)
def test_to_parquet_the_inputs_have_their_types(tmp_path: Path, source: str) -> None:
    MAKERS[source](tmp_path / f"rows{source}")
    assert copy(tmp_path / f"rows{source}", tmp_path / "out.parquet", columns(**INPUTS)) == []
    assert read(tmp_path / "out.parquet") == [row | ANSWERS for row in ROWS]


@pytest.mark.parametrize("source", MAKERS)
def test_to_json_lines(tmp_path: Path, source: str) -> None:
    MAKERS[source](tmp_path / f"rows{source}")
    assert copy(tmp_path / f"rows{source}", tmp_path / "out.jsonl", columns(**INPUTS)) == []
    found = read(tmp_path / "out.jsonl")
    for row, wanted in zip(found, ROWS, strict=True):
        assert datetime.datetime.fromisoformat(row.pop("at")) == NOON
        assert row.pop("raw") == JSON_TEXT[wanted["raw"]]
        own = {name: value for name, value in wanted.items() if name not in ("at", "raw")}
        assert row == own | ANSWERS
    assert list(found[0])[-3:] == list(ANSWERS)


@pytest.mark.parametrize("source", [".jsonl", ".parquet"])
def test_to_csv(tmp_path: Path, source: str) -> None:
    MAKERS[source](tmp_path / f"rows{source}")
    assert copy(tmp_path / f"rows{source}", tmp_path / "out.csv", columns(**INPUTS)) == []
    first = read(tmp_path / "out.csv")[0]
    assert datetime.datetime.fromisoformat(first.pop("at")) == NOON
    assert list(first.values()) == [
        "007", "1.5", "-3", "true", TEXT, "[1.0, 2.5]", '{"k": 1}', "AAH/", TEXT, "a, b", "[0.5, 0.5]", "true",
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_to_csv_keeps_every_cell(tmp_path: Path, end: str) -> None:
    make_csv(tmp_path / "rows.csv", end=end)
    assert copy(tmp_path / "rows.csv", tmp_path / "out.csv", columns(**INPUTS)) == []
    assert [list(row.values())[:-3] for row in read(tmp_path / "out.csv")] == CSV_ROWS


@pytest.mark.parametrize("target", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("source", MAKERS)
def test_no_rows(tmp_path: Path, source: str, target: str) -> None:
    make_csv(tmp_path / "rows.csv", [])
    (tmp_path / "rows.jsonl").touch()
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "rows.parquet")
    assert copy(tmp_path / f"rows{source}", tmp_path / f"out{target}", columns(x="double")) == []
    assert read(tmp_path / f"out{target}") == []
    if target == ".csv":
        own = ",".join(NAMES) if source == ".csv" else "x"
        assert (tmp_path / "out.csv").read_text() == f"{own},label,p,sure\n"


@pytest.mark.parametrize("source", [".csv", ".jsonl"])
def test_the_mark_that_windows_puts_in_front(tmp_path: Path, source: str) -> None:
    path = tmp_path / f"rows{source}"
    path.write_bytes(b"\xef\xbb\xbf" + {".csv": b"x,y\n1,2\n", ".jsonl": b'{"x": 1.0, "y": "2"}\n'}[source])
    assert copy(path, tmp_path / "out.jsonl", columns(x="double")) == []
    assert read(tmp_path / "out.jsonl") == [{"x": 1.0, "y": "2"} | ANSWERS]


@pytest.mark.parametrize("source", [".csv", ".jsonl"])
def test_utf_16_is_refused(tmp_path: Path, source: str) -> None:
    path = tmp_path / f"rows{source}"
    path.write_text("x,y\n1,2\n", encoding="utf-16")
    with pytest.raises(InvalidEnsemble, match=r"\[bad_file\] input: the file is UTF-16; save it as UTF-8"):
        copy(path, tmp_path / "out.jsonl", columns(x="double"))


def test_parquet_keeps_types_that_the_language_lacks(tmp_path: Path) -> None:
    table = pa.table(
        {
            "x": pa.array([1.0, None]),
            "price": pa.array([decimal.Decimal("1.10"), None], pa.decimal128(10, 2)),
            "day": pa.array([datetime.date(2024, 5, 1), None]),
            "nanos": pa.array([1_714_564_800_000_000_001, None], pa.timestamp("ns")),
            "kind": pa.array(["a", None]).dictionary_encode(),
            "small": pa.array([1, None], pa.uint8()),
            "many": pa.array([[1], None], pa.list_(pa.int16())),
            "nested": pa.array(
                [{"at": 1_714_564_800_000_000_001}, None], pa.struct([("at", pa.timestamp("ns"))])
            ),
        }
    ).replace_schema_metadata({"who": "me"})
    pq.write_table(table, tmp_path / "rows.parquet")
    for target in (".parquet", ".jsonl", ".csv"):
        copy(tmp_path / "rows.parquet", tmp_path / f"out{target}", columns(x="double"))
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.select(table.column_names).equals(table)
    assert found.schema.metadata == {b"who": b"me"}
    first, second = read(tmp_path / "out.jsonl")
    assert list(first.values())[1:8] == [
        "1.10", "2024-05-01", NANOS, "a", 1, [1], {"at": NANOS},
    ]  # fmt: skip
    assert list(second.values())[:8] == [None] * 8
    first, second = read(tmp_path / "out.csv")
    assert list(first.values())[1:6] == ["1.10", "2024-05-01", NANOS, "a", "1"]
    assert list(second.values())[:8] == [""] * 8


def test_what_json_lacks_goes_through(tmp_path: Path) -> None:
    text = '{"x": NaN, "y": [-Infinity], "big": 123456789012345678901234567890, "s": "\\ud83c\\udf4e"}\n'
    (tmp_path / "rows.jsonl").write_text(text)
    assert copy(tmp_path / "rows.jsonl", tmp_path / "out.jsonl", columns(x="double")) == []
    (found,) = read(tmp_path / "out.jsonl")
    assert math.isnan(found["x"])
    assert (found["y"], found["big"], found["s"]) == ([-math.inf], 123456789012345678901234567890, "🍎")


def test_rows_of_json_lines_stay_as_they_are(tmp_path: Path) -> None:
    rows = [
        '{"x":1e2,"y":[ 0.10000000000000001 , 1.50 ],"s":"\\u00e9"}',
        '  { "x" : 1.0 }  ',
        "{}",
        '{"x": 1,\r "y": 0.1234567890123456789}',
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), newline="")
    assert copy(tmp_path / "rows.jsonl", tmp_path / "out.jsonl", columns(x="double")) == []
    added = '"label": "a, b", "p": [0.5, 0.5], "sure": true}'
    assert (tmp_path / "out.jsonl").read_bytes().decode().splitlines(keepends=True) == [
        '{"x":1e2,"y":[ 0.10000000000000001 , 1.50 ],"s":"\\u00e9", ' + added + "\n",
        '{ "x" : 1.0, ' + added + "\n",
        "{" + added + "\n",
        '{"x": 1, "y": 0.1234567890123456789, ' + added + "\n",
    ]
