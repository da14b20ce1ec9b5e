"""One rule for numbers: a declared integer takes what it holds exactly, a declared float the nearest it holds.

Whether a row of JSON, CSV or Python holds them, alone or in lists, maps and rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import example, given
from hypothesis import strategies as st

from beam_ensembles import RunEnsemble
from beam_ensembles.cli.main import main
from beam_ensembles.columns.convert import to_column
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.tables.cells import values_of_cells
from beam_ensembles.tables.json_lines import JsonReader
from beam_ensembles.tables.json_text import Parser, to_json
from beam_ensembles.transforms.binding import CallOptions, bind
from beam_ensembles.transforms.row_forms import input_rows
from beam_ensembles.types import NUMPY_DTYPES, parse_type

HasFloats = beam.typehints.row_type.RowTypeConstraint.from_fields([("x", Sequence[float])])
TENTH: Any = float(np.float32(0.1))

TAKEN: list[tuple[str, str, int | float]] = [
    ("double", "100000000000000000000", 1e20),
    ("double", "-100000000000000000000", -1e20),
    ("double", "3", 3.0),
    ("double", "9007199254740993", 9007199254740992.0),
    ("double", "12345678901234567890.123", 12345678901234567890.123),
    ("double", "1e308", 1e308),
    ("double", "1e-400", 0.0),
    ("double", "-0", -0.0),
    ("double", "0.1", 0.1),
    ("float", "0.1", TENTH),
    ("float", "16777217", 16777216.0),
    ("float", "100000000000000000000", float(np.float32(1e20))),
    ("float", "-0.0", -0.0),
    ("float16", "0.1", float(np.float16(0.1))),
    ("int64", "3.0", 3),
    ("int64", "1e3", 1000),
    ("int64", "-0", 0),
    ("int64", "-0.0", 0),
    ("int64", "9223372036854775807", 2**63 - 1),
    ("int64", "9223372036854775807.0", 2**63 - 1),
    ("int64", "9007199254740993.0", 2**53 + 1),
    ("int64", "9.007199254740993e15", 2**53 + 1),
    ("int64", "-9.223372036854775808e18", -(2**63)),
    ("int32", "1E2", 100),
    ("uint8", "255.0", 255),
    ("uint64", "18446744073709551615", 2**64 - 1),
    ("uint64", "1.8446744073709551615e19", 2**64 - 1),
]
REFUSED: list[tuple[str, str]] = [
    ("double", "1e400"),
    ("double", "-1e400"),
    ("double", "1" + "0" * 400),
    ("float", "1e39"),
    ("float", "3.5e38"),
    ("float16", "65520"),
    ("int64", "3.5"),
    ("int64", "9007199254740992.5"),
    ("int64", "9223372036854775808"),
    ("int64", "9223372036854775807.5"),
    ("int64", "1e19"),
    ("int64", "1e400"),
    ("int64", "1e-400"),
    ("int64", "1e-999999999"),
    ("int64", "1e999999999"),
    ("int32", "2147483648.0"),
    ("uint8", "256"),
    ("uint8", "-1.0"),
    ("uint64", "-1"),
    ("uint64", "18446744073709551616"),
]
FORMS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "alone": ("{}", "{}", lambda value: value),
    "a list": ("array<{}>", "[1, {}]", lambda value: value[1]),
    "a list of nullable": ("array<{}?>", "[null, {}]", lambda value: value[1]),
    "a tensor": ("array<{}>[2]", "[1, {}]", lambda value: value[1]),
    "a list of lists": ("array<array<{}>>", "[[], [{}]]", lambda value: value[1][0]),
    "a map": ("map<string,{}>", '{{"k": {}}}', lambda value: value["k"]),
    "a row": ("row<a: {}, b: string>", '{{"a": {}, "b": ""}}', lambda value: value["a"]),
    "rows in a list": ("array<row<a: {}>>", '[{{"a": {}}}]', lambda value: value[0]["a"]),
}


def from_jsonl(text: str, type_: str, folder: Path) -> list[Any]:
    path = folder / "rows.jsonl"
    path.write_text(f'{{"x": {text}}}\n')
    (chunk,) = JsonReader(str(path), {"x": parse_type(type_)}, (), whole=False).chunks(9)
    assert not chunk.faults
    return chunk.column("x")


def from_csv(text: str, type_: str, folder: Path) -> list[Any]:
    return values_of_cells([text], parse_type(type_))


SOURCES = [from_jsonl, from_csv]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("type_", "text", "value"), TAKEN)
def test_a_number_that_the_type_holds_is_that_number(
    tmp_path: Path, type_: str, text: str, value: float, form: str, source: Callable[..., list[Any]]
) -> None:
    of, written, part = FORMS[form]
    declared = parse_type(of.format(type_))
    found = to_column(source(written.format(text), of.format(type_), tmp_path), declared, "x")
    assert not found.faults
    item = part(found.values[0])
    assert (item, math.copysign(1, item)) == (value, math.copysign(1, value))
    wanted = NUMPY_DTYPES[type_]
    assert item.dtype == wanted if isinstance(item, np.generic) else type(item) is type(wanted.type(0).item())


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("type_", "text"), REFUSED)
def test_a_number_that_the_type_does_not_hold_is_the_error_of_its_row(
    tmp_path: Path, type_: str, text: str, form: str, source: Callable[..., list[Any]]
) -> None:
    of, written, _ = FORMS[form]
    (value,) = source(written.format(text), of.format(type_), tmp_path)
    (error,) = to_column([value], parse_type(of.format(type_)), "x").faults.values()
    assert error.code == "wrong_value"
    if form == "alone" and source is from_jsonl and "e4" in text:
        assert f"input 'x' is {text}" in error.message


@pytest.mark.parametrize("text", [text for _, text, _ in TAKEN] + [text for _, text in REFUSED])
def test_a_number_that_nothing_reads_is_written_with_all_its_digits(text: str) -> None:
    written = to_json({"x": [Parser()(text)]})
    assert Decimal(written.removeprefix('{"x": [').removesuffix("]}")) == Decimal(text)


@given(st.floats(-(2.0**53), 2.0**53), st.integers(17, 25))
def test_what_a_program_prints_of_a_double_is_that_double(value: float, digits: int) -> None:
    found = Parser()(f"{value:.{digits - 1}e}")
    assert (type(found), found) == (float, value)


@given(st.decimals(allow_nan=False, allow_infinity=False))
@example(Decimal("136708.64444834739"))  # 17 digits of the double that is written as 136708.6444483474
def test_a_double_stands_for_no_other_number(number: Decimal) -> None:
    text = str(number).replace("E+", "e")
    found = Parser()(text)
    assert float(found) == float(number)
    if abs(Decimal(to_json(found)) - number) > abs(number) * Decimal("1e-17"):
        printed = f"{found:.{len(number.as_tuple().digits) - 1}e}"
        assert (type(found), Decimal(printed)) == (float, number)


@given(
    st.lists(st.integers(-(2**64), 2**64) | st.floats() | st.decimals(), max_size=4),
    st.sampled_from(list(NUMPY_DTYPES)),
)
def test_numbers_in_a_column_are_what_each_is_alone(values: list[Any], type_: str) -> None:
    declared = parse_type(type_)
    together = to_column(values, declared, "x")
    alone = [to_column([value], declared, "x") for value in values]
    assert set(together.faults) == {at for at, one in enumerate(alone) if one.faults}
    expected = [one.values for one in alone if not one.faults]
    np.testing.assert_array_equal(together.values, np.concatenate(expected) if expected else [])


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("map<int64,double>", '{"1": 2.5, "-3": 1}', {1: 2.5, -3: 1.0}),
        ("map<double,string>", '{"1.5": "a"}', {1.5: "a"}),
        ("map<boolean,string>", '{"true": "a"}', {True: "a"}),
        ("map<bytes,string>", '{"AA==": "a"}', {b"\0": "a"}),
        ("map<string,int64>", '{"1": 2.0}', {"1": 2}),
    ],
)
def test_keys_of_maps_are_text_in_json(tmp_path: Path, type_: str, text: str, value: Any) -> None:
    for source in SOURCES:
        found = to_column(source(text, type_, tmp_path), parse_type(type_), "x")
        assert found.values.tolist() == [value]
    assert json.loads(to_json(value)) == json.loads(text)


@pytest.mark.parametrize("text", ['{"01": 1}', '{"1.5": 1}', '{"x": 1}', '{"": 1}'])
def test_keys_that_are_no_numbers(tmp_path: Path, text: str) -> None:
    found = to_column(from_jsonl(text, "map<int64,int64>", tmp_path), parse_type("map<int64,int64>"), "x")
    assert [error.code for error in found.faults.values()] == ["wrong_value"]


@pytest.mark.parametrize("value", [True, np.True_, "1", None, [1], b"1", math.nan, Decimal("NaN"), 1j])
def test_what_is_no_whole_number(value: Any) -> None:
    assert to_column([2**63, value, 3.0], parse_type("uint64"), "x").faults.keys() == {1}


def ensemble_of(type_: str, folder: Path) -> Path:
    file = folder / "e.yaml"
    node = f"{{combine: first, inputs: [x], outputs: {{y: '{type_}'}}}}"
    file.write_text(f"ensemble: e\ninputs: {{x: '{type_}'}}\nnodes: {{f: {node}}}\n")
    return file


def test_a_pipeline_and_a_run_give_the_same_of_the_same_numbers(tmp_path: Path) -> None:
    file = ensemble_of("array<float>", tmp_path)
    rows = [[0.1, 1e-50], [3.0], [], [1e39]]
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"x": {row}}}\n' for row in rows))
    assert (
        main(
            [
                "run",
                str(file),
                "--input",
                str(tmp_path / "rows.jsonl"),
                "--output",
                str(tmp_path / "out.jsonl"),
            ]
        )
        == 1
    )
    written = [json.loads(line)["y"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert written == [[TENTH, 0.0], [3.0], []]
    with beam.Pipeline() as p:
        pcoll = p | beam.Create(rows) | beam.Map(lambda x: beam.Row(x=x)).with_output_types(HasFloats)
        scored, errors = pcoll | RunEnsemble(file).with_errors()
        assert_that(scored | "y" >> beam.Map(lambda row: row.y), equal_to(written), label="scored")
        assert_that(
            errors | "code" >> beam.Map(lambda row: row.code), equal_to(["wrong_value"]), label="errors"
        )


@pytest.mark.parametrize(
    ("hint", "type_"),
    [
        (float, "float"), (float, "double"), (int, "int32"), (int, "int64"), (int, "double"), (int, "float"),
        (list[float], "array<float>"), (list[float], "array<float>[2]"), (list[int], "array<double>"),
        (list[int], "array<int32>"), (dict[str, float], "map<string, float>"), (float | None, "float?"),
    ],
)  # fmt: skip
def test_rows_of_python_may_hold_what_json_may(tmp_path: Path, hint: Any, type_: str) -> None:
    file = ensemble_of(type_, tmp_path)
    rows = input_rows(beam.typehints.row_type.RowTypeConstraint.from_fields([("x", hint)]))
    assert bind(graph_of_file(file), rows, CallOptions()).inputs


@pytest.mark.parametrize(
    ("hint", "type_"), [(float, "int64"), (str, "double"), (bool, "int64"), (int, "boolean")]
)
def test_a_type_of_python_that_cannot_be_declared_so(tmp_path: Path, hint: Any, type_: str) -> None:
    file = ensemble_of(type_, tmp_path)
    rows = input_rows(beam.typehints.row_type.RowTypeConstraint.from_fields([("x", hint)]))
    with pytest.raises(InvalidEnsemble, match="field_type"):
        bind(graph_of_file(file), rows, CallOptions())


def test_what_is_read_and_written_in_a_whole_run(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "ensemble: e\ninputs: {x: double, n: int64}\n"
        "nodes: {twice: {apply: sql, select: {y: 'x * 2', m: 'n + 1'}, outputs: {y: {}, m: {}}}}\n"
    )
    own = '"id": 12345678901234567890.125'
    rows = [
        f'{{"x": 100000000000000000000, "n": 3.0, {own}}}',
        f'{{"x": 1e400, "n": 3, {own}}}',
        f'{{"x": 1, "n": 1e3, {own}}}',
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    call = [str(tmp_path / name) for name in ("e.yaml", "rows.jsonl", "out.jsonl", "out.csv", "out.parquet")]
    for output in call[2:]:
        assert main(["run", call[0], "--input", call[1], "--output", output]) == 1
    found = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["y"] for line in found] == [2e20, 2.0]
    assert [json.loads(line)["m"] for line in found] == [4, 1001]
    assert all(own in line for line in found)
    failed = (tmp_path / "out.errors.jsonl").read_text()
    assert '"x": 1e400' in failed
    assert "input 'x' is 1e400 (number), which is not of type double" in failed
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == [
        "100000000000000000000,3.0,12345678901234567890.125,2e+20,4",
        "1,1000.0,12345678901234567890.125,2.0,1001",
    ]
