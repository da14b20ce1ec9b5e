"""A parsed file to a checked graph: order, types, and what is left out of a wrong file's report."""

from __future__ import annotations

import pytest

import beam_ensembles.graph as graph_package
from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check, check_text, plan
from beam_ensembles.graph.kinds import Kinds, options_of
from beam_ensembles.registry import KINDS
from beam_ensembles.spec import load_text
from beam_ensembles.types import DOUBLE, INT64, parse_type
from tests.unit.graph.conftest import Check, FakeKind, Problems

OPTIONS = options_of(KINDS)

HEAD = "ensemble: e\ninputs: {x: double}\nnodes:\n"


def average(name: str, inputs: str, column: str = "", type_: str = "double") -> str:
    return f"  {name}: {{combine: mean, inputs: [{inputs}], outputs: {{{column or name}: {type_}}}}}\n"


def test_the_public_names() -> None:
    assert sorted(graph_package.__all__) == ["EnsembleGraph", "Plan", "Stage", "check", "check_text", "plan"]


def test_nodes_run_after_what_they_read_and_else_in_the_order_of_the_file(check: Check) -> None:
    text = (
        HEAD
        + average("z", "c, b")
        + average("c", "a")
        + average("b", "a")
        + average("a", "x")
        + average("late", "x")
    )
    assert [node.spec.name for node in check(text).nodes] == ["a", "late", "c", "b", "z"]


def test_default_outputs_are_what_no_node_reads(check: Check) -> None:
    text = HEAD + average("a", "x") + average("b", "a", "b", "int64") + average("c", "a")
    assert check(text).outputs == (("b", INT64), ("c", DOUBLE))


def test_outputs_keep_their_order(check: Check) -> None:
    text = HEAD + average("a", "x") + average("b", "a") + "outputs: [b, a]\n"
    assert [name for name, _ in check(text).outputs] == ["b", "a"]


def test_what_could_not_be_checked_stops_nothing(check: Check, mean: FakeKind) -> None:
    assert check(HEAD + average("b", "x")).warnings == ()
    mean.doubted = "nobody answers"
    graph = check(HEAD + average("b", "x"))
    assert graph.warnings == (Problem("nodes.b.uri", "server_unreachable", "nobody answers"),)
    assert graph.outputs == (("b", DOUBLE),)


def test_a_node_knows_the_namespace_of_its_metrics(check: Check) -> None:
    assert check(HEAD + average("b", "x")).nodes[0].namespace == "e/b"


def test_an_unused_input_is_contract(problems: Problems) -> None:
    assert problems("ensemble: e\ninputs: {x: double, y: string}\nnodes:\n" + average("a", "x")) == []


def test_types_go_along_the_edges(check: Check, mean: FakeKind) -> None:
    nodes = average("b", "a, x") + average("a", "x", "a", '"array<uint8>[2]"')
    graph = check(f"ensemble: e\ninputs: {{x: float?}}\nnodes:\n{nodes}")
    assert [view.inputs for view in mean.asked] == [
        {"x": parse_type("float")},
        {"a": parse_type("array<uint8>[2]"), "x": parse_type("float")},
    ], "a kind that takes no nulls never meets one"
    assert graph.nodes[1].inputs == {"a": parse_type("array<uint8>[2]"), "x": parse_type("float?")}
    assert graph.nodes[1].outputs == {"b": DOUBLE}


def test_a_model_has_its_absolute_place(check: Check) -> None:
    text = HEAD + "  a: {model: sklearn, uri: etc/hostname, inputs: [x], outputs: {a: double}}\n"
    (node,) = check(text).nodes
    assert node.uri == "/etc/hostname"


def test_a_parsed_file_is_checked_too(kinds: Kinds) -> None:
    spec = load_text(HEAD + average("a", "x"), OPTIONS)
    assert check(spec, kinds, Files()).spec is spec
    with pytest.raises(InvalidEnsemble, match="unknown_column"):
        check(load_text(HEAD + average("a", "y"), OPTIONS), kinds, Files())


def test_a_plan_of_one_stage(check: Check) -> None:
    graph = check(HEAD + average("b", "a") + average("a", "x"))
    (stage,) = plan(graph).stages
    assert (stage.name, stage.nodes) == ("e", graph.nodes)


def test_a_missing_file_does_not_stop_the_other_checks(problems: Problems) -> None:
    text = (
        HEAD + "  a: {model: sklearn, uri: nowhere, inputs: [x], outputs: {a: double}}\n" + average("b", "y")
    )
    assert problems(text) == [("missing_file", "nodes.a.uri"), ("unknown_column", "nodes.b.inputs[0]")]


def test_a_kind_that_cannot_tell_a_type(problems: Problems, mean: FakeKind) -> None:
    mean.undetermined = True
    assert problems(HEAD + "  a: {combine: mean, inputs: [x], outputs: {a: }}\n") == [
        ("missing_type", "nodes.a.outputs.a")
    ]


def test_a_kind_is_not_asked_about_a_node_that_cannot_be_read(problems: Problems, mean: FakeKind) -> None:
    text = HEAD + "  a: {combine: mean, inputs: [x], outputs: {a: dubble}}\n" + average("b", "a")
    assert problems(text) == [("bad_type", "nodes.a.outputs.a")]
    assert [(view.spec.name, view.inputs) for view in mean.asked] == [("b", {"a": None})]


def test_a_kind_does_not_see_options_that_are_wrong(problems: Problems, model: FakeKind) -> None:
    options = "uri: etc/hostname, copies: many, method: guess, loud: true"
    text = HEAD + f"  a: {{model: sklearn, {options}, inputs: [x], outputs: {{a: double}}}}\n"
    assert problems(text) == [("wrong_type", "nodes.a.copies"), ("bad_value", "nodes.a.method")]
    assert model.asked[0].spec.options == {"uri": "etc/hostname", "loud": True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The type of an input is not known, but the column is there.
        ("ensemble: e\ninputs: {x: dubble}\nnodes:\n" + average("a", "x"), [("bad_type", "inputs.x")]),
        # Which columns the row has is not known.
        ("ensemble: e\ninputs: [x]\nnodes:\n" + average("a", "x"), [("wrong_type", "inputs")]),
        # Which columns a node adds is not known.
        (
            HEAD + "  a: {combine: mean, inputs: [x], outputs: [a]}\n" + average("b", "a") + "outputs: [c]\n",
            [("wrong_type", "nodes.a.outputs")],
        ),
        # What a node reads is not known, so that nothing is unused.
        (
            HEAD
            + average("a", "x")
            + "  b: {combine: mean, inputs: a, outputs: {b: double}}\noutputs: [b]\n",
            [("wrong_type", "nodes.b.inputs")],
        ),
        # A misspelt column is used.
        (
            HEAD + average("first", "x") + average("b", "frist") + "outputs: [b]\n",
            [("unknown_column", "nodes.b.inputs[0]")],
        ),
        (HEAD + average("first", "x") + "outputs: [frist]\n", [("unknown_output", "outputs[0]")]),
        # What is left is looked at as ever.
        (
            HEAD + average("a", "x") + average("a.b", "x") + average("c", "c"),
            [("bad_name", 'nodes["a.b"]'), ("cycle", "nodes.c")],
        ),
    ],
)
def test_one_mistake_is_reported_once(problems: Problems, text: str, expected: list[tuple[str, str]]) -> None:
    assert problems(text) == expected


def test_a_kind_of_another_key_is_named(check: Check) -> None:
    with pytest.raises(InvalidEnsemble, match="write 'combine: mean'"):
        check(HEAD + "  a: {model: mean, inputs: [x], outputs: {a: double}}\n")


def test_a_name_is_not_suggested_to_the_node_that_makes_it(check: Check) -> None:
    with pytest.raises(InvalidEnsemble, match=r"no column 'aa' \(columns: x\)"):
        check(HEAD + average("a", "aa"))


def test_a_column_with_a_hyphen_is_to_be_quoted_in_an_expression(check: Check) -> None:
    text = HEAD.replace("x: double", "x: double, my-column: double")
    text += "  b: {combine: mean, inputs: [x], outputs: {b: double}, when: 'my-column > 1'}\n"
    with pytest.raises(InvalidEnsemble) as caught:
        check(text)
    found = caught.value.problems
    assert [problem.code for problem in found] == ["unknown_column"] * 2
    assert "no column 'my'; write 'my-column' in double quotes: \"my-column\"" in found[0].message


def test_a_cycle_says_which_of_its_nodes_waits_for_a_condition(check: Check) -> None:
    text = (
        HEAD + average("a", "b") + "  b: {combine: mean, inputs: [x], outputs: {b: double}, when: 'a > 1'}\n"
    )
    with pytest.raises(InvalidEnsemble, match=r"a -> b -> a \('b' waits because its 'when' reads a\)"):
        check(text)
    with pytest.raises(InvalidEnsemble, match="the node reads what it makes itself: a"):
        check(HEAD + average("a", "a"))


def test_a_default_s_key_that_is_misspelt_is_named(check: Check) -> None:
    text = HEAD + "  b: {combine: mean, inputs: [x], outputs: {b: double}, on_error: {defaults: {b: 0.0}}}\n"
    with pytest.raises(InvalidEnsemble, match="did you mean 'default'"):
        check(text)


@pytest.mark.parametrize("parameters", [{"levle": "1", "level": "2"}, {"level": "2", "x": "1"}])
def test_a_parameter_that_the_file_does_not_have_is_refused(parameters: dict[str, str]) -> None:
    text = 'ensemble: e\ninputs: {x: double}\nnodes:\n  a: {apply: sql, select: {c: "x > ${level}"}}\n'
    with pytest.raises(InvalidEnsemble) as found:
        check_text(text, KINDS, Files(), parameters=parameters)
    (problem,) = found.value.problems
    assert (problem.path, problem.code) == ("parameters", "unknown_parameter")
    assert "(it has: level)" in problem.message
    assert check_text(text, KINDS, Files(), parameters={"level": "2"}).outputs
