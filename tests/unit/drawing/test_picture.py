"""What there is to draw: figures, flows and stages, of a checked ensemble and of names alone."""

from __future__ import annotations

from collections.abc import Callable

from beam_ensembles.drawing import Picture, picture
from beam_ensembles.drawing.picture import COMPARISON, CONDITION, DATA, ROW_IN, ROW_OUT, Flow
from beam_ensembles.graph import EnsembleGraph, plan
from tests.unit.drawing.conftest import drawn

CHECKED = """\
ensemble: two
inputs: {x: double}
nodes:
  mean: {combine: mean, inputs: [a, b], outputs: {mean: double}}
  one: {combine: mean, inputs: [x], outputs: {a: double, b: double}}
"""


def test_the_rows_are_the_first_and_the_last_figure(review: Picture) -> None:
    names = [figure.name for figure in review.figures]
    assert names == [ROW_IN, "cheap", "arm", "next", "expert", "answer", "nice", ROW_OUT]
    assert review.figures[0].lines == ("user: string", "x: array<double>[4]", "note: string?")
    assert review.figures[-1].lines == ("nice: double", "arm: string", "q: double")


def test_columns_with_the_same_readers_are_one_flow(review: Picture) -> None:
    assert set(review.flows) == {
        Flow(ROW_IN, ("user",), (("arm", DATA),)),
        Flow(ROW_IN, ("x",), (("cheap", DATA), ("next", DATA), ("expert", DATA))),
        Flow("cheap", ("p",), (("expert", CONDITION), ("answer", DATA))),
        Flow("cheap", ("q",), ((ROW_OUT, DATA),)),
        Flow("cheap", (), (("next", COMPARISON),)),
        Flow("arm", ("arm",), (("expert", CONDITION), (ROW_OUT, DATA))),
        Flow("expert", ("e",), (("answer", DATA),)),
        Flow("answer", ("answer",), (("nice", DATA),)),
        Flow("nice", ("nice",), ((ROW_OUT, DATA),)),
    }


def test_several_columns_for_the_same_reader() -> None:
    found = drawn("""{
        "ensemble": "wide", "inputs": {"a": "double", "b": "double", "c": "double"},
        "nodes": {"one": {"model": "sklearn", "inputs": ["a", "c", "a"], "outputs": {"d": "double", "e": "double"}}}
    }""")
    assert found.flows == (
        Flow(ROW_IN, ("a", "c"), (("one", DATA),)),
        Flow("one", ("d", "e"), ((ROW_OUT, DATA),)),
    )


def test_what_stands_on_a_node(review: Picture) -> None:
    expert = next(figure for figure in review.figures if figure.name == "expert")
    assert expert.shape == "model"
    assert expert.lines == ("model: pytorch", "retries: 2", "on_error: nullify")
    assert expert.condition == "p < 0.7 AND arm = 'a'"
    assert "reads p: double" in expert.about
    assert "adds e: double" in expert.about
    assert [figure.name for figure in review.figures if figure.is_shadow] == ["next"]


def test_a_condition_without_columns_stands_on_the_node() -> None:
    found = drawn("""{
        "ensemble": "never", "inputs": {"a": "double"},
        "nodes": {"one": {"model": "sklearn", "when": "1 > 2", "inputs": ["a"], "outputs": {"d": "double"}}}
    }""")
    assert found.figures[1].condition == ""
    assert "when 1 > 2" in found.figures[1].lines


def test_a_long_row_is_cut() -> None:
    inputs = ", ".join(f'"c{at}": "double"' for at in range(40))
    found = drawn(f"""{{
        "ensemble": "wide", "inputs": {{{inputs}}},
        "nodes": {{"one": {{"model": "sklearn", "inputs": ["c0"], "outputs": {{"d": "double"}}}}}}
    }}""")
    assert found.figures[0].lines[-1] == "and 28 more"
    assert len(found.figures[0].lines) == 13
    assert "c39: double" in found.figures[0].about


def test_a_checked_ensemble_has_its_plans_stages(check: Callable[[str], EnsembleGraph]) -> None:
    graph = check(CHECKED)
    found = picture(graph, plan(graph))
    assert [figure.name for figure in found.figures] == [ROW_IN, "one", "mean", ROW_OUT]
    (stage,) = found.stages
    assert stage.name == "two"
    assert stage.figures == ("one", "mean")
    assert found.note == ""
