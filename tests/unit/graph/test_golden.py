"""The golden files that Python, Go and Java read: what is right, and what is wrong with the rest."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from beam_ensembles.beam_repairs.row_coder import RowType
from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.transforms.binding import CallOptions, bind
from beam_ensembles.transforms.row_forms import input_rows
from beam_ensembles.types import parse_type

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
INVALID = sorted((GOLDEN / "specs_invalid").glob("*.yaml"))
VALID = [path for path in sorted((GOLDEN / "specs").glob("*.yaml")) if path.stem != "sketches"]


def expected(path: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    return found


def check(path: pathlib.Path, parameters: dict[str, str] | None = None) -> EnsembleGraph:
    text = path.read_text(encoding="utf-8")
    return check_text(
        text,
        KINDS,
        Files(str(path.parent), (str(GOLDEN / "specs_invalid"),)),
        parameters=parameters,
    )


def problems_of(path: pathlib.Path) -> tuple[Problem, ...]:
    fields = expected(path).get("input")
    if fields is None:
        with pytest.raises(InvalidEnsemble) as caught:
            check(path)
        return caught.value.problems
    graph = check(path)  # the file is right, the rows are not
    schema = schema_of((name, parse_type(type_)) for name, type_ in fields.items())
    rows = input_rows(RowType(schema))
    with pytest.raises(InvalidEnsemble) as caught:
        bind(graph, rows, CallOptions())
    return caught.value.problems


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_what_is_wrong(path: pathlib.Path) -> None:
    problems = problems_of(path)
    found = [{"code": problem.code, "path": problem.path} for problem in problems]
    assert found == expected(path)["problems"]
    for problem in problems:
        assert re.fullmatch(r"\[[a-z0-9_]+\] \S+: .+", str(problem))
        assert problem.message[0].islower() or not problem.message[0].isalpha()
        assert not problem.message.endswith(".")


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_a_case_is_named_after_its_first_code(path: pathlib.Path) -> None:
    codes = {problem["code"] for problem in expected(path)["problems"]}
    assert path.stem == "all_together" or any(path.stem.startswith(f"{code}_") for code in codes)


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_what_is_right(path: pathlib.Path) -> None:
    wanted = expected(path)
    graph = check(path, wanted.get("parameters"))
    assert {name: str(type_) for name, type_ in graph.spec.inputs} == wanted["inputs"]
    assert [node.spec.name for node in graph.nodes] == wanted["order"]
    assert {name: str(type_) for name, type_ in graph.outputs} == wanted["outputs"]


def test_there_are_cases() -> None:
    assert len(INVALID) > 100
    assert len(VALID) >= 3
