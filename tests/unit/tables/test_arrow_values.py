"""Columns of all of Arrow's types: carried as they are, with every digit, or refused by name, read or not."""

from __future__ import annotations

import contextlib
import datetime
import functools
import io
import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.util import assert_that, equal_to

from beam_ensembles import RunEnsemble
from beam_ensembles.cli.main import main
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.tables.arrow_values import plain_values
from beam_ensembles.tables.json_text import to_json
from tests.support.arrow_columns import COUNT, every_column

COLUMNS = every_column()
X = pa.array([1.0, None, 3.0, 4.0, None, 6.0])
GOOD, BAD = [0, 2, 3, 5], [1, 4]
DECLARED = ("string?", "double?", "bytes?", "timestamp?", "array<int64?>?", "map<string,string?>?")
ENSEMBLE = """\
ensemble: doubled
inputs: {x: double}
nodes:
  twice: {apply: sql, select: {y: "x * 2"}, outputs: {y: {}}}
"""


def rows_of(array: pa.Array, at: list[int]) -> pa.Array:
    return pa.concat_arrays([array.slice(one, 1) for one in at])


@functools.cache
def in_parquet() -> dict[str, pa.Array]:
    """Returns the columns that Parquet holds, as it gives them back."""
    found = {}
    for name, array in COLUMNS.items():
        file = io.BytesIO()
        with contextlib.suppress(pa.ArrowException, OSError):
            pq.write_table(pa.table({"c": array}), file)
            found[name] = pq.read_table(file).column("c").combine_chunks()
    return found


SUFFIXES = (".jsonl", ".csv", ".parquet")


def run(
    folder: Path, columns: dict[str, pa.Array], ensemble: str, suffixes: tuple[str, ...] = SUFFIXES
) -> list[int]:
    (folder / "e.yaml").write_text(ensemble)
    pq.write_table(pa.table({"x": X, **columns}), folder / "rows.parquet")
    files = [str(folder / name) for name in ("e.yaml", "rows.parquet")]
    return [
        main(
            [
                "run",
                files[0],
                "--input",
                files[1],
                "--output",
                str(folder / f"out{suffix}"),
                "--batch-size",
                "4",
            ]
        )
        for suffix in suffixes
    ]


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows of all columns, scored into every format by an ensemble that reads none of them."""
    folder = tmp_path_factory.mktemp("carried")
    assert run(folder, {place(name): array for name, array in in_parquet().items()}, ENSEMBLE) == [1, 1, 1]
    return folder


@pytest.mark.parametrize("name", sorted(in_parquet()))
def test_what_no_node_reads_is_carried_by_every_format(carried: Path, name: str) -> None:
    column = in_parquet()[name]
    scored = rows_of(column, GOOD)
    written = pq.read_table(carried / "out.parquet", columns=[place(name)]).column(0).combine_chunks()
    assert written.type == column.type
    assert written.equals(scored)
    expected = list(map(json_of, exact(scored)))
    lines = [json.loads(line) for line in (carried / "out.jsonl").read_text().splitlines()]
    assert [line[place(name)] for line in lines] == expected
    found = cells(carried / "out.csv", place(name))
    assert found == ["" if value is None else cell_of(value) for value in expected]
    failed = [json.loads(line) for line in (carried / "out.errors.jsonl").read_text().splitlines()]
    assert [line["row"] - 1 for line in failed] == BAD
    assert [line["element"][place(name)] for line in failed] == list(
        map(json_of, exact(rows_of(column, BAD)))
    )


def place(name: str) -> str:
    """Returns what the column of a type is called in a file."""
    return f"c{list(COLUMNS).index(name)}"


def json_of(value: Any) -> Any:
    return json.loads(to_json(value))


def cell_of(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


def cells(path: Path, column: str) -> list[str]:
    options = pa.csv.ConvertOptions(
        column_types={column: pa.string()}, strings_can_be_null=False, include_columns=[column]
    )
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    table = pa.csv.read_csv(path, parse_options=parse, convert_options=options)
    return list(table.column(column).to_pylist())


def exact(array: pa.Array) -> list[Any]:
    """Returns values as Arrow's own printing has them where Python's types cannot hold them."""
    return [scalar_of(array[at]) for at in range(len(array))]


def scalar_of(value: pa.Scalar) -> Any:
    if not value.is_valid:
        return None
    if isinstance(value, pa.ExtensionScalar):
        return value.as_py()
    if isinstance(value, pa.DictionaryScalar):
        return scalar_of(value.dictionary[value.index.as_py()])
    if isinstance(value, pa.MapScalar):
        pairs = [(scalar_of(pair["key"]), scalar_of(pair["value"])) for pair in value.values]
        return pairs if pa.types.is_struct(value.type.key_type) else dict(pairs)
    if isinstance(value, pa.StructScalar):
        return {name: scalar_of(value[name]) for name in value.type.names}
    if isinstance(value, pa.ListScalar | pa.ListViewScalar | pa.LargeListViewScalar):
        return list(map(scalar_of, value.values or []))
    if getattr(value.type, "unit", "") == "ns":
        return nanos_of(value)
    return value.as_py()


def nanos_of(value: pa.Scalar) -> Any:
    """Computes the text anew: the seconds by Python, the nine digits from the count."""
    if pa.types.is_timestamp(value.type) and value.type.tz not in (None, "UTC"):
        local = pc.local_timestamp(value)
        offset = local.value - value.value
        sign = "+" if offset >= 0 else "-"
        hours, minutes = divmod(abs(offset) // 60_000_000_000, 60)
        return f"{nanos_of(local)}{sign}{hours:02}:{minutes:02}"
    seconds, nanos = divmod(value.value, 10**9)
    digits = f".{nanos:09}".removesuffix("000") if nanos else ""
    if pa.types.is_duration(value.type):
        return f"{datetime.timedelta(seconds=seconds)}{digits}"
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    if pa.types.is_time64(value.type):
        return f"{at.time().isoformat()}{digits}"
    return f"{at.isoformat()}{digits}{'+00:00' if value.type.tz else ''}"


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_values_have_every_digit(name: str) -> None:
    if "union" in name:
        pytest.skip("no file of rows holds unions")
    array = COLUMNS[name]
    assert list(map(json_of, plain_values(array))) == list(map(json_of, exact(array)))
    assert list(map(json_of, plain_values(array.slice(1, 3)))) == list(map(json_of, exact(array.slice(1, 3))))


def reading(declared: str, columns: list[str]) -> str:
    """Returns an ensemble that reads columns as one type and answers with the first of them."""
    types = "".join(f", {column}: '{declared}'" for column in columns)
    inputs = ", ".join(columns)
    return (
        f"ensemble: e\ninputs: {{x: double{types}}}\n"
        "nodes:\n  twice: {apply: sql, select: {y: x * 2}, outputs: {y: {}}}\n"
        f"  same: {{combine: first, inputs: [{inputs}], outputs: {{z: '{declared}'}}}}\noutputs: [y, z]\n"
    )


@pytest.mark.parametrize("declared", DECLARED)
def test_what_a_node_reads_is_read_or_refused(
    tmp_path: Path, declared: str, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {place(name): array for name, array in in_parquet().items()}
    assert run(tmp_path, columns, reading(declared, [*columns]), (".jsonl",)) == [1]
    assert not (tmp_path / "out.jsonl").exists()
    said = capsys.readouterr().err
    read = [column for column in columns if f"[field_type] input.{column}:" not in said]
    assert 0 < len(read) < len(columns)
    for column in read:
        run(tmp_path, {column: columns[column]}, reading(declared, [column]), (".jsonl",))
        failed = [json.loads(line) for line in (tmp_path / "out.errors.jsonl").read_text().splitlines()]
        good = (tmp_path / "out.jsonl").read_text().splitlines()
        assert len(failed) + len(good) == COUNT
        assert {line["code"] for line in failed} <= {"null_value", "wrong_value"}


def test_record_batches_of_every_type_are_carried(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(ENSEMBLE)
    columns = {f"c{at}": array for at, array in enumerate(COLUMNS.values())}
    batch = pa.RecordBatch.from_arrays([X, *columns.values()], ["x", *columns])

    def differing(found: pa.RecordBatch) -> list[str]:
        return [
            name for name, array in columns.items() if not rows_of(array, GOOD).equals(found.column(name))
        ]

    def failing(found: pa.RecordBatch) -> list[str]:
        elements = dict(
            zip(found.schema.field("element").type.names, found.column("element").flatten(), strict=True)
        )
        return [name for name, array in columns.items() if not rows_of(array, BAD).equals(elements[name])]

    with beam.Pipeline() as p:
        run = RunEnsemble(tmp_path / "e.yaml").with_arrow_schema(batch.schema).with_errors()
        scored, errors = p | beam.Create([1]) | beam.Map(lambda _: batch) | run
        assert_that(scored | "scored" >> beam.FlatMap(differing), equal_to([]), label="same")
        assert_that(errors | "failed" >> beam.FlatMap(failing), equal_to([]), label="same too")


def refusals(folder: Path, declared: str, names: list[str]) -> list[tuple[str, str]]:
    """Returns the places and codes of what an ensemble that reads record batches' columns as one type is told."""
    columns = list(map(place, names))
    types = ", ".join(f"{column}: '{declared}'" for column in columns)
    (folder / "e.yaml").write_text(
        f"ensemble: e\ninputs: {{{types}}}\n"
        f"nodes: {{same: {{combine: first, inputs: [{', '.join(columns)}], outputs: {{z: '{declared}'}}}}}}\n"
    )
    schema = pa.schema([(column, COLUMNS[name].type) for column, name in zip(columns, names, strict=True)])
    try:
        _ = beam.Pipeline() | beam.Create([1]) | RunEnsemble(folder / "e.yaml").with_arrow_schema(schema)
    except InvalidEnsemble as error:
        return [(one.path, one.code) for one in error.problems]
    return []


def test_record_batches_are_read_or_refused_by_name(tmp_path: Path) -> None:
    read: list[str] = []
    for declared in DECLARED:
        refused = refusals(tmp_path, declared, list(COLUMNS))
        assert {code for _, code in refused} == {"field_type"}
        taken = [name for name in COLUMNS if (f"input.{place(name)}", "field_type") not in refused]
        assert len(refused) + len(taken) == len(COLUMNS)
        assert taken
        assert refusals(tmp_path, declared, taken) == []
        read += taken
    assert len(read) == len(set(read))


READ = {
    "string_view": "string?",
    "large_string": "string?",
    "binary_view": "bytes?",
    "fixed_size_binary[3]": "bytes?",
    "list<item: string_view>": "array<string?>?",
    "large_list<item: string_view>": "array<string?>?",
    "map<string, string_view>": "map<string,string?>?",
    "dictionary of string": "string?",
}


@pytest.mark.parametrize("name", READ)
def test_views_are_read_as_what_they_are_views_of(tmp_path: Path, name: str) -> None:
    declared, array = READ[name], COLUMNS[name]
    (tmp_path / "e.yaml").write_text(
        f"ensemble: e\ninputs: {{c: '{declared}'}}\n"
        f"nodes: {{same: {{combine: first, inputs: [c], outputs: {{z: '{declared}'}}}}}}\n"
    )
    batch = pa.RecordBatch.from_arrays([array], ["c"])
    with beam.Pipeline() as p:
        run = RunEnsemble(tmp_path / "e.yaml").with_arrow_schema(batch.schema)
        scored = p | beam.Create([1]) | beam.Map(lambda _: batch) | run
        values = scored | beam.FlatMap(lambda found: found.column("z").to_pylist(maps_as_pydicts="strict"))
        assert_that(values, equal_to(array.to_pylist(maps_as_pydicts="strict")))


def test_a_view_of_text_that_is_not_utf_8_is_a_fault_of_its_row(tmp_path: Path) -> None:
    texts = [b"a", b"\xff", b"", b"d", b"e", b"f"]
    views = b"".join(len(text).to_bytes(4, "little") + text.ljust(12, b"\0") for text in texts)
    column = pa.Array.from_buffers(pa.string_view(), len(texts), [None, pa.py_buffer(views)])
    assert run(tmp_path, {"c": column}, ENSEMBLE) == [1, 1, 1]
    failed = [json.loads(line) for line in (tmp_path / "out.errors.jsonl").read_text().splitlines()]
    assert [(line["row"], line["code"]) for line in failed] == [(2, "bad_line"), (5, "null_value")]
    assert failed[0]["msg"] == "'c' cannot be read: the text is not UTF-8"
    assert failed[0]["element"]["c"] == "\\xff"


def test_nested_rows_with_two_fields_of_one_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = pa.StructArray.from_arrays([X, X], ["a", "a"])
    assert run(tmp_path, {"c": twice}, ENSEMBLE) == [1, 1, 1]
    said = "[duplicate_field] input.a: 2 columns of the rows in 'c' are named 'a'"
    assert capsys.readouterr().err.count(said) == 3
