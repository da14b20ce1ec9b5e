"""Parameters in expressions are literals: no value, whatever is in it, changes what an expression computes."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.sql_literals import LiteralError, bound
from beam_ensembles.spec.sql_tokens import tokens_of


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("2", "2"),
        ("0.5", "0.5"),
        ("-3", "(-3)"),
        ("-0.0", "(-0.0)"),
        ("1e300", "1e+300"),
        ("007", "7"),
        ("true", "TRUE"),
        ("False", "FALSE"),
        ("no", "'no'"),
        ("it's", "'it''s'"),
        ("0 or 1=1", "'0 or 1=1'"),
        ("' OR 1=1 --", "''' OR 1=1 --'"),
        ("${x}", "'${x}'"),
        ("x", "'x'"),
        ("2026-01-01", "'2026-01-01'"),
    ],
)
def test_what_a_value_is(value: str, literal: str) -> None:
    assert bound("a < ${v}", {"v": value}) == f"a < {literal}"


@pytest.mark.parametrize("value", ["", "~", "null", ".nan", ".inf", "-.inf", "9" * 400])
def test_what_no_literal_can_be(value: str) -> None:
    with pytest.raises(LiteralError, match="'v'"):
        bound("a < ${v}", {"v": value})
    assert bound("a < '${v}'", {"v": value}) == f"a < '{value}'"


@pytest.mark.parametrize("expression", ['"${v}" > 1', 'a > 1 AND "b${v}" > 2'])
def test_no_parameter_names_a_column(expression: str) -> None:
    with pytest.raises(LiteralError, match="double quotes"):
        bound(expression, {"v": "1"})


@pytest.mark.parametrize(
    ("expression", "filled"),
    [
        ("conf${v} > 1", "conf 2 > 1"),
        ("1${v}", "1 2"),
        ("${v}${v}", "2  2"),
        ("'a'${v}'b'", "'a' 2 'b'"),
        ("p[${v}]", "p[2]"),
        ("F(${v},${v})", "F(2,2)"),
        ("conf<${v}", "conf<2"),
    ],
)
def test_a_value_never_joins_what_stands_beside_it(expression: str, filled: str) -> None:
    assert bound(expression, {"v": "2"}) == filled


def test_what_stands_behind_a_quote_without_end_is_left_alone() -> None:
    assert bound("a = '${v}", {"v": "' OR 1=1 OR a = '"}) == "a = '${v}"
    assert bound("'x''y' = ${v}", {"v": "1"}) == "'x''y' = 1"
    assert bound('"it s" = ${v}', {"v": "1"}) == '"it s" = 1'


@given(st.text())
def test_a_value_is_one_token_whatever_is_in_it(value: str) -> None:
    (quoted,) = tokens_of(bound("'${v}'", {"v": value}))
    assert quoted.kind == "text"
    try:
        found = list(tokens_of(bound("${v}", {"v": value})))
    except LiteralError:
        return
    assert [token.kind for token in found] in (["text"], ["number"], ["word"]) or value.lstrip()[0] in "-+"
    assert [token.kind for token in tokens_of(f"a = {bound('${v}', {'v': value})}")][-1] in (
        "text",
        "number",
        "word",
        "sign",
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_that_number(value: float) -> None:
    literal = bound("${v}", {"v": repr(value)})
    assert math.copysign(1, float(literal.strip("()"))) == math.copysign(1, value)
    assert float(literal.strip("()")) == value


def graph(expression: str, **parameters: str) -> Any:
    nodes = {"n": {"apply": "sql", "select": {"y": expression}}}
    text = json.dumps({"ensemble": "t", "inputs": {"conf": "double", "s": "string"}, "nodes": nodes})
    return check_text(text, KINDS, Files(), parameters=parameters).nodes[0]


def computed(expression: str, **parameters: str) -> Any:
    node = graph(expression, **parameters)
    columns = {"conf": np.array([0.25, 0.75]), "s": np.array(["it's", "0 or 1=1"], dtype=object)}
    return KINDS["apply", "sql"].load(node)({name: columns[name] for name in node.inputs})["y"].tolist()


def test_expressions_compute_with_the_values() -> None:
    assert computed("COALESCE(conf < ${cut}, FALSE)", cut="0.5") == [True, False]
    assert computed("COALESCE(conf < ${cut}, FALSE)", cut="1") == [True, True]
    assert computed("s = ${t}", t="0 or 1=1") == [False, True]
    assert computed("s = '${t}'", t="it's") == [True, False]
    assert computed("s LIKE '%${t}'", t="1=1") == [False, True]
    assert computed("s || '${t}'", t="7")[0] == "it's7"


def test_a_value_of_another_type_is_an_error_and_no_code() -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        graph("conf < ${cut}", cut="0 or 1=1")
    assert [problem.path for problem in caught.value.problems] == ["nodes.n.select.y"]
