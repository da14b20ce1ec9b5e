"""``${name}``: where it is filled, as what, and where not."""

from __future__ import annotations

import pytest

from beam_ensembles.spec.parameters import fill, names_in


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${w}", 2),
        ("${half}", 0.5),
        ("${flag}", True),
        ("${nothing}", None),
        ("${text}", "no"),
        ("${quoted}", '"2"'),
        ("a/${w}/b", "a/2/b"),
        ("${w}${half}", "20.5"),
        (" ${w}", " 2"),
        ("$w", "$w"),
        ("${", "${"),
        ("${nested}", "${w}"),
    ],
)
def test_a_whole_scalar_keeps_its_type(text: str, value: object) -> None:
    given = {"w": "2", "half": "0.5", "flag": "true", "nothing": "~", "text": "no"}
    given |= {"quoted": '"2"', "nested": "${w}"}
    filled, problems = fill({"a": [text]}, given)
    assert filled == {"a": [value]}
    assert type(filled["a"][0]) is type(value)
    assert not problems


def test_values_in_expressions_are_literals() -> None:
    select = {"a": "${w}", "b": "s = '${t}'"}
    cases = [{"when": "x > ${w} OR s = ${t}", "arm": "${t}"}]
    node = {"when": "x > ${w}", "select": select, "cases": cases, "uri": "${w}"}
    filled, problems = fill(
        {"nodes": {"n": node, "when": {"uri": "${w}"}}, "when": "${w}"}, {"w": "2", "t": "it's"}
    )
    assert not problems
    assert filled["nodes"]["n"] == {
        "when": "x > 2",
        "select": {"a": "2", "b": "s = 'it''s'"},
        "cases": [{"when": "x > 2 OR s = 'it''s'", "arm": "it's"}],
        "uri": 2,
    }
    assert filled["nodes"]["when"] == {"uri": 2}
    assert filled["when"] == 2


def test_problems_of_values_in_expressions_stand_at_their_places() -> None:
    node = {"when": "x > ${none}", "select": {"a": '"${w}"'}, "cases": [{"when": "${missing}", "arm": "a"}]}
    _, problems = fill({"nodes": {"n": node}}, {"w": "2", "none": "null"})
    assert [(problem.code, problem.path) for problem in problems] == [
        ("bad_value", "nodes.n.when"),
        ("bad_value", "nodes.n.select.a"),
        ("missing_parameter", "nodes.n.cases[0].when"),
    ]


def test_missing_ones_are_named_at_each_place() -> None:
    data = {"a": "${moodel}", "b": ["${x}/${y}"], "c": "${}"}
    filled, problems = fill(data, {"model": "m"})
    assert filled == data
    assert [(problem.path, problem.code) for problem in problems] == [
        ("a", "missing_parameter"),
        ("b[0]", "missing_parameter"),
        ("c", "missing_parameter"),
    ]
    assert "the parameter 'moodel', but one for 'model'; is one of them misspelled?" in problems[0].message
    assert "'x', 'y'; pass it with the call, or write a default under 'parameters'" in problems[1].message
    assert "given: model" in problems[1].message


def test_the_parameters_of_a_file_are_those_that_are_filled() -> None:
    data = {"nodes": {"n": {"when": "x > ${w}", "uri": "${a}/${b}"}}, "other": ["${a}", "${c}", 1]}
    assert names_in(data) == {"a", "b", "c", "w"}
