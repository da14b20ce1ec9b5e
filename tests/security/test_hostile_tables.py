"""Untrusted tables: values and rows of few bytes that stand for hours or gigabytes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beam_ensembles import Ensemble
from beam_ensembles.cli.run_scoring import Call, score_file
from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.evaluation import labels
from beam_ensembles.functions.lookup.values import converter
from beam_ensembles.limits import MOST_ROW_FIELDS
from beam_ensembles.local.frames import frame_of
from beam_ensembles.tables import parquet_pages, parquet_parts
from beam_ensembles.tables.formats import Columns, open_reader
from beam_ensembles.tables.parquet_files import ParquetReader
from beam_ensembles.types import parse_type
from tests.support.fuzzing import Target, target

_SECONDS: Final = 10.0


@pytest.mark.parametrize("type_", ["int64", "array<int64>", "map<string,int64>"])
def test_a_decimal_of_a_database_is_not_written_out(type_: str) -> None:
    number = Decimal("1e300000")  # as digits this takes five seconds, ten times the exponent ten minutes
    start = time.process_time()
    with pytest.raises(ValueError):  # noqa: PT011 - it says nothing
        converter(parse_type(type_))({"int64": number, "array<int64>": [number]}.get(type_, {"a": number}))
    assert time.process_time() - start < 1.0


def test_decimals_of_a_database_within_the_range_keep_all_digits() -> None:
    assert converter(parse_type("int64"))(Decimal(2**63 - 1)) == 2**63 - 1
    assert converter(parse_type("array<int64>"))([Decimal(-(2**63))]) == [-(2**63)]
    assert converter(parse_type("array<double>"))([Decimal("1e300")]) == [1e300]


_FLAT: Final = [{f"k{at}.{count}": 1 for count in range(100)} for at in range(200)]
_NESTED: Final = [{"x": [{f"k{at}": {f"l{at}.{count}": 1 for count in range(100)}}]} for at in range(200)]


@pytest.mark.parametrize(
    ("rows", "output", "is_refused"),
    [
        (_FLAT, "o.parquet", True),
        (_FLAT, "o.csv", True),
        (_FLAT, "o.jsonl", False),
        (_NESTED, "o.parquet", True),
        (_NESTED, "o.csv", False),
        (_NESTED, "o.jsonl", False),
        ([dict.fromkeys(map(str, range(200_000)), 1)], "o.jsonl", False),
        ([dict.fromkeys(map(str, range(200_000)), 1)], "o.parquet", True),
    ],
)
def test_rows_of_many_fields_are_refused_where_each_would_get_all(
    rows: list[dict[str, object]], output: str, is_refused: bool, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    start = time.process_time()
    if is_refused:
        with pytest.raises(
            InvalidEnsemble, match=rf"more than {MOST_ROW_FIELDS:,} different fields.*write \.jsonl"
        ):
            open_reader(str(path), Columns({}, ()), output)
    else:
        assert sum(map(len, open_reader(str(path), Columns({}, ()), output).chunks(1_024))) == len(rows)
    assert time.process_time() - start < _SECONDS


@pytest.mark.parametrize("output", ["o.csv", "o.parquet", "o.jsonl"])
def test_few_bytes_of_json_lines_do_not_become_gigabytes_of_commas(output: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(json.dumps(dict.fromkeys(map(str, range(9_000)), 1)).encode() + b"\n{}" * 30_000)
    if output == "o.jsonl":
        open_reader(str(path), Columns({}, ()), output)
        return
    with pytest.raises(InvalidEnsemble, match=r"30,001 rows have 9,000 different fields .*write \.jsonl"):
        open_reader(str(path), Columns({}, ()), output)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_name_that_json_lines_would_repeat_in_each_row_is_not_huge(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{suffix}"
    if suffix == ".csv":
        path.write_bytes(b"x," + b"n" * 100_000 + b"\n" + b"1,\n" * 10)
    else:
        pq.write_table(pa.table({"n" * 100_000: [1]}), path)
    with pytest.raises(InvalidEnsemble, match=r"a field has 100,000 characters .*1,000 are allowed"):
        open_reader(str(path), Columns({}, ()), "o.jsonl")


_SUM: Final = "ensemble: e\ninputs: {x: double}\nnodes:\n  n: {apply: sql, select: {y: x + 1}}\n"


def _nested(depth: int, *, structs: bool) -> pa.Array:
    type_, value = pa.int64(), 1
    for _ in range(depth):
        type_ = pa.struct([("a", type_)]) if structs else pa.list_(type_)
        value = {"a": value} if structs else [value]
    return pa.array([value], type_)


@pytest.mark.parametrize("output", ["o.csv", "o.parquet", "o.jsonl"])
@pytest.mark.parametrize(
    ("depth", "structs", "is_read"), [(30, True, True), (60, False, True), (200, False, False)]
)
def test_a_deeply_nested_column_passes_or_is_refused_in_one_sentence(
    depth: int, structs: bool, is_read: bool, output: str, tmp_path: Path
) -> None:
    (tmp_path / "e.yaml").write_text(_SUM)
    path = str(tmp_path / "in.parquet")
    pq.write_table(pa.table({"x": [1.0], "z": _nested(depth, structs=structs)}), path)
    places = [str(tmp_path / name) for name in ("e.yaml", "in.parquet", output, "o.errors.jsonl")]
    call = Call(**dict(zip(("file", "input", "output", "errors"), places, strict=True)), batch_size=2)
    if is_read:
        assert score_file(call, lambda *_, **__: None).scored == 1
        return
    with pytest.raises(InvalidEnsemble, match="the file is not a Parquet file"):
        score_file(call, lambda *_, **__: None)


@pytest.mark.parametrize(
    ("value", "is_cell", "kinds"),
    [
        ("[" * 100_000, True, ["texts"]),
        (10**400, False, ["whole numbers", "lists"]),
        (10**5_000, False, None),
    ],
    ids=["deep", "large", "larger"],
)
def test_a_label_that_is_too_large_or_too_deep_is_one_of_another_kind(
    value: Any, is_cell: bool, kinds: list[str] | None
) -> None:
    """Both ended `evaluate` by a traceback."""
    found = labels.kinds_of([value], are_cells=is_cell)
    assert kinds is None or found == kinds
    assert len(labels.described(value)) < 100
    with pytest.raises(ValueError):  # noqa: PT011 - it says nothing
        labels.as_kind(value, labels.NUMBER, is_cell=is_cell)


def _in_a_file(folder: Path, column: pa.Array, **options: Any) -> str:
    path = str(folder / "in.parquet")
    pq.write_table(pa.table({"x": [1.0] * len(column), "z": column}), path, **options)
    return path


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (pa.array([bytes(1 << 20)] * 2), "the pages of row group 1 unpack to"),
        (pa.array([[None] * 100_000], pa.list_(pa.int64())), "the lists of row group 1 take"),
        (pa.array([[None] * 100_000], pa.list_(pa.binary(9))), "the lists of row group 1 take"),
    ],
)
def test_pages_of_few_bytes_that_unpack_to_many_are_not_read(
    column: pa.Array, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow unpacks whole pages: a file of 17 kB took 755 MB, and a page may have 2 GiB."""
    path = _in_a_file(tmp_path, column, compression="zstd", use_dictionary=False)
    assert ParquetReader(path).total == len(column)
    monkeypatch.setattr(parquet_pages, "_SMALL", 64 << 10)
    with pytest.raises(InvalidEnsemble, match=what):
        ParquetReader(path)


def test_the_header_of_a_page_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = _in_a_file(tmp_path, pa.array(["a", "b"]))
    with Path(path).open("r+b") as file:
        file.seek(4)
        file.write(b"\xff" * 16)
    with pytest.raises(InvalidEnsemble, match="the file cannot be read: the header of a page is malformed"):
        ParquetReader(path)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_pages_of_each_kind_are_read_as_the_footer_has_them(
    version: str, compression: str, tmp_path: Path
) -> None:
    rows = range(500)
    table = pa.table(
        {
            "n": list(rows),
            "b": [None, True] * 250,
            "t": [f"v{at % 7}" for at in rows],
            "l": [["x" * at] * (at % 3) for at in rows],
            "p": [f"{'x' * 100}{at}" for at in rows],
        }
    )
    path = str(tmp_path / "in.parquet")
    pq.write_table(
        table, path, data_page_version=version, compression=compression, data_page_size=500, row_group_size=150,
        use_dictionary=["n", "t"], column_encoding={"p": "DELTA_BYTE_ARRAY"}, write_page_checksum=True,
    )  # fmt: skip
    metadata = pq.read_metadata(path)
    for at, group in enumerate(ParquetReader(path)._pages):
        for place, pages in enumerate(group):
            assert pages.values == metadata.row_group(at).column(place).num_values
            assert 0 < pages.total <= metadata.row_group(at).column(place).total_uncompressed_size
            assert pages.has_prefixes == (pages.column == "p")
    assert sum(len(chunk) for chunk in ParquetReader(path).chunks(100)) == 500


def test_lists_of_a_text_that_a_dictionary_keeps_once_are_unfolded_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a file ended `run` by an AttributeError."""
    column = pa.array([["x" * 1_000] * 100] * 40)
    path = _in_a_file(tmp_path, column)
    monkeypatch.setattr(parquet_parts, "_MOST_BYTES", 1_000_000)
    chunks = list(ParquetReader(path).chunks(40))
    assert [len(chunk) for chunk in chunks] == [10] * 4
    assert [value for chunk in chunks for value in chunk.column("z")] == column.to_pylist()


def test_texts_that_repeat_the_one_before_are_read_few_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = pa.array(["x" * 1_000 + str(at) for at in range(100)])
    encoding = {"column_encoding": {"z": "DELTA_BYTE_ARRAY"}, "use_dictionary": False}
    path = _in_a_file(tmp_path, column, **encoding)
    monkeypatch.setattr(parquet_parts, "_MOST_BYTES", 20_000)
    chunks = list(ParquetReader(path).chunks(100))
    assert max(map(len, chunks)) <= 20
    assert [value for chunk in chunks for value in chunk.column("z")] == column.to_pylist()


def _view(data: bytes, offsets: list[int]) -> pa.Array:
    views = np.array([100, 0, 0, 1 << 30] * (len(offsets) - 1), "int32")
    return pa.Array.from_buffers(
        pa.string_view(), len(offsets) - 1, [None, pa.py_buffer(views.tobytes()), pa.py_buffer(data)]
    )


def _text(data: bytes, offsets: list[int]) -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(offsets, "int32").tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _lying(kind: str) -> pa.Array:
    text = _text(b"abcd", [0, 300, 300, 3, 4])
    if kind == "text in a struct":
        return pa.StructArray.from_arrays([text], ["k"])
    if kind == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array([0, 1, 1 << 30, 0], pa.int32()), ["a"], safe=False)
    return _view(b"abc", [0] * 5) if kind == "view" else text


def attack(given: tuple[str, str, str]) -> str:
    """Scores a table that lies; runs in a process of its own, which that would end."""
    folder, kind, errors = given
    (Path(folder) / "e.yaml").write_text(_SUM)
    sink = pa.BufferOutputStream()
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "z": _lying(kind)})
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    read = pa.ipc.open_file(sink.getvalue()).read_all()
    try:
        mode: Any = errors
        return f"answered {Ensemble(f'{folder}/e.yaml').predict(read, errors=mode)}"
    except EnsembleError as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture(scope="module")
def scoring() -> Iterator[Target]:
    with target(f"{__name__}:attack") as process:
        yield process


@pytest.mark.parametrize("errors", ["split", "raise"])
@pytest.mark.parametrize("kind", ["text", "text in a struct", "dictionary", "view"])
def test_an_arrow_table_of_a_file_that_lies_ends_no_process(
    kind: str, errors: str, scoring: Target, tmp_path: Path
) -> None:
    outcome = scoring.attack((str(tmp_path), kind, errors))
    assert outcome.kind == "answered", outcome
    assert str(outcome.value).startswith("EnsembleError: the rows cannot be read: "), outcome


def test_a_text_that_all_rows_of_a_table_name_is_unfolded_in_parts() -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_024, "int32")), pa.array(["x" * (1 << 20)]))
    frame = frame_of(pa.table({"t": texts}))
    assert [len(chunk) for chunk in frame.chunks(1_024)] == [256] * 4


@pytest.mark.parametrize("kind", ["view", "run ends"])
def test_rows_of_a_table_of_any_types_are_taken(kind: str, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(_SUM)
    ends = pa.RunEndEncodedArray.from_arrays(pa.array([4], pa.int32()), pa.array([7]))
    z = pa.array(["a", "b" * 20, None, "d"], pa.string_view()) if kind == "view" else ends
    table = pa.table({"x": [1.0, None, 3.0, 4.0], "z": z})
    scored, failed = Ensemble(str(tmp_path / "e.yaml")).predict(table, errors="split")
    assert scored.column("x").to_pylist() == [1.0, 3.0, 4.0]
    assert scored.column("z").to_pylist() == ([7] * 3 if kind == "run ends" else ["a", None, "d"])
    assert failed.num_rows == 1
