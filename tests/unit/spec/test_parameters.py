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


def test_expressions_are_left_alone() -> None:
    expressions = {"when": "x > ${w}", "select": {"a": "${w}"}, "cases": [{"when": "${w}"}], "uri": "${w}"}
    data = {"nodes": {"n": expressions, "when": {"uri": "${w}"}}, "when": "${w}"}
    filled, problems = fill(data, {"w": "2"})
    assert filled == {"nodes": {"n": {**expressions, "uri": 2}, "when": {"uri": 2}}, "when": 2}
    assert not problems


def test_missing_ones_are_named_at_each_place() -> None:
    data = {"a": "${moodel}", "b": ["${x}/${y}"], "c": "${}"}
    filled, problems = fill(data, {"model": "m"})
    assert filled == data
    assert [(problem.path, problem.code) for problem in problems] == [
        ("a", "missing_parameter"),
        ("b[0]", "missing_parameter"),
        ("c", "missing_parameter"),
    ]
    assert "'moodel'; did you mean 'model'?" in problems[0].message
    assert "'x', 'y'" in problems[1].message
    assert "given: model" in problems[1].message


def test_the_parameters_of_a_file_are_those_that_are_filled() -> None:
    data = {"nodes": {"n": {"when": "x > ${w}", "uri": "${a}/${b}"}}, "other": ["${a}", "${c}", 1]}
    assert names_in(data) == {"a", "b", "c"}
