"""Binding an ensemble to rows of other languages: the opaque column, kept fields, the caller's order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from beam_ensembles.beam_repairs.row_coder import RowType
from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.errors import InvalidEnsemble, InvalidOutputType, InvalidRows
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.transforms.binding import CallOptions, bind
from beam_ensembles.transforms.row_forms import InputRows, input_rows
from beam_ensembles.types import parse_type


@pytest.fixture(scope="module")
def graph(iris: Path) -> EnsembleGraph:
    return graph_of_file(iris)


def _rows(**fields: str) -> InputRows:
    return _only(**(dict.fromkeys("abcd", "double") | fields))


def _only(**fields: str) -> InputRows:
    return input_rows(RowType(schema_of((name, parse_type(type_)) for name, type_ in fields.items())))


def _names(graph: EnsembleGraph, rows: InputRows, **call: Any) -> list[str]:
    hint = bind(graph, rows, CallOptions(**call)).outputs.hint
    return [field.name for field in hint.schema.fields]


CARRIED = {"__opaque": "bytes"}


def test_all_fields_are_kept_and_columns_added(graph: EnsembleGraph) -> None:
    assert _names(graph, _rows(id="int64")) == ["a", "b", "c", "d", "id", "label", "confidence"]


@pytest.mark.parametrize("listed", [["a"], ["a", "when"], ["a", "__opaque"]])
def test_the_opaque_column_always_comes_back(graph: EnsembleGraph, listed: list[str]) -> None:
    found = _names(graph, _rows(**CARRIED), pass_through=listed, opaque={"when": "time.Time"})
    assert found == ["a", "__opaque", "label", "confidence"]
    assert _names(graph, _rows(**CARRIED), pass_through=["a"]) == ["a", "__opaque", "label", "confidence"]


@pytest.mark.parametrize(
    ("call", "code", "path"),
    [
        ({"opaque": {"a": "time.Time"}}, "opaque_field", "input.a"),
        ({"opaque": {"label": "time.Time"}}, "column_exists", "outputs.label"),
        ({"pass_through": ["e"]}, "missing_field", "pass_through"),
    ],
)
def test_what_cannot_be_bound_is_refused(
    graph: EnsembleGraph, call: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        bind(graph, _rows(**CARRIED), CallOptions(**call))
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [(code, path)]


@pytest.mark.parametrize("name", ["class", "a-b", "_x"])
def test_a_name_that_rows_of_python_cannot_have_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "names.yaml"
    node = f'{{apply: sql, select: {{{name}: "a + 1.0"}}}}'
    file.write_text(f"ensemble: names\ninputs: {{a: double}}\nnodes: {{n: {node}}}\n", encoding="utf-8")
    graph = graph_of_file(file)
    rows = input_rows(NamedTuple("Rows", [("a", float)]))
    with pytest.raises(InvalidEnsemble) as caught:
        bind(graph, rows, CallOptions())
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == ("bad_name", f"outputs.{name}")
    is_mended = name != "a-b"
    assert f"'{name}'" in problem.message
    assert ("give a prefix" in problem.message) is is_mended
    if is_mended:
        bind(graph, rows, CallOptions(prefix="p"))
    assert _names(graph, _rows()) == ["a", "b", "c", "d", name]


def test_a_null_and_a_wider_number_are_fine_and_a_narrower_one_is_not(graph: EnsembleGraph) -> None:
    _names(graph, _rows(a="double?", b="int32", c="float"))
    with pytest.raises(InvalidRows, match=r"(?s)^the rows do not fit ensemble '.+\[field_type\] input\.a"):
        _names(graph, _rows(a="string"))


@pytest.mark.parametrize(
    ("found", "rule"),
    [
        ("string", "convert the field before, or declare the input as the field is"),
        ("array<double>", "convert the field before, or declare the input as the field is"),
        ("double?", "numbers may only become wider"),
    ],
)
def test_the_message_says_what_can_be_done_about_a_type(tmp_path: Path, found: str, rule: str) -> None:
    file = tmp_path / "whole.yaml"
    file.write_text(
        "ensemble: e\ninputs: {stops: int64}\nnodes: {n: {apply: sql, select: {made: stops + 1}}}\n"
    )
    with pytest.raises(InvalidRows) as caught:
        _names(graph_of_file(file), _only(stops=found))
    assert caught.value.problems[0].message.endswith("; " + rule)


def test_a_type_of_the_output_that_does_not_fit_is_not_the_ensembles_fault(graph: EnsembleGraph) -> None:
    call = CallOptions(output_schema=schema_of([("lable", parse_type("string"))]))
    with pytest.raises(
        InvalidOutputType, match="the caller's type does not fit the output of ensemble 'iris': 1"
    ):
        bind(graph, _rows(), call)


def test_rows_in_rows_have_the_declared_fields_in_any_order(tmp_path: Path) -> None:
    file = tmp_path / "stops.yaml"
    file.write_text(
        "ensemble: e\ninputs: {stops: 'array<row<at: int64, note: string>>'}\n"
        "nodes: {n: {apply: sql, select: {made: ARRAY_LENGTH(stops)}}}\n"
    )
    graph = graph_of_file(file)
    _names(graph, _only(stops="array<row<at: int32, note: string?>>"))
    _names(graph, _only(stops="array<row<note: string, at: int64>>"))
    with pytest.raises(InvalidEnsemble, match="rows in rows need the same fields, and numbers may only"):
        _names(graph, _only(stops="array<row<notes: string, at: int64>>"))


def test_a_type_that_is_not_a_number_is_not_told_to_become_wider(graph: EnsembleGraph) -> None:
    with pytest.raises(
        InvalidEnsemble, match="as string, and the ensemble declares double; convert the field before"
    ):
        _names(graph, _rows(a="string"))
    with pytest.raises(
        InvalidEnsemble, match="as array<double>, and the ensemble declares double; convert the field"
    ):
        _names(graph, _rows(a="array<double>"))


def test_the_output_comes_under_the_callers_own_schema(graph: EnsembleGraph) -> None:
    wanted = schema_of([("confidence", parse_type("double?")), ("a", parse_type("double"))])
    wanted.id = "the caller's"
    found = bind(graph, _rows(), CallOptions(output_schema=wanted))
    assert found.outputs.hint.schema == wanted
    assert found.outputs.form.extend([(1.0, 2.0, 3.0, 4.0)], [["x"], [0.5]]) == [(0.5, 1.0)]


def test_an_input_that_no_node_reads_is_contract_only(tmp_path: Path) -> None:
    file = tmp_path / "mean.yaml"
    file.write_text(
        "ensemble: e\ninputs: {a: double, note: 'string?'}\n"
        "nodes: {m: {combine: mean, inputs: [a], outputs: {y: double}}}\n"
    )
    rows = input_rows(RowType(schema_of([("a", parse_type("double")), ("note", parse_type("string?"))])))
    assert [name for name, _, _ in bind(graph_of_file(file), rows, CallOptions()).inputs] == ["a"]
