"""Which nodes run fused, and what rows carry from stage to stage."""

from __future__ import annotations

from typing import Any

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, Plan, check_text, plan
from beam_ensembles.graph.kinds import Kinds
from beam_ensembles.graph.planning import alive_between, needs_stages
from tests.unit.graph.conftest import FakeKind

MEAN = FakeKind("combine", "mean")


@pytest.fixture
def kinds() -> Kinds:
    return {("model", "sklearn"): FakeKind("model", "sklearn"), ("combine", "mean"): MEAN}


def graph_of(kinds: Kinds, *nodes: str) -> EnsembleGraph:
    lines = "\n".join(f"  {node}" for node in nodes)
    return check_text(f"ensemble: e\ninputs: {{x: double, z: double}}\nnodes:\n{lines}\n", kinds, Files("/"))


def model(name: str, reads: str, **more: Any) -> str:
    keys = "".join(f", {key}: {value}" for key, value in more.items())
    return f"{name}: {{model: sklearn, inputs: [{reads}], outputs: {{{name}: double}}{keys}}}"


def names(found: Plan) -> list[list[str]]:
    return [[node.spec.name for node in stage.nodes] for stage in found.stages]


def test_all_nodes_run_fused(kinds: Kinds) -> None:
    found = plan(graph_of(kinds, model("a", "x"), model("b", "a"), model("c", "b")))
    assert names(found) == [["a", "b", "c"]]
    assert found.stages[0].name == "e"


def test_other_resources_are_another_stage(kinds: Kinds) -> None:
    gpu = "{accelerator: 'type:t4;count:1;install-nvidia-driver', min_ram: 16GB}"
    graph = graph_of(
        kinds,
        model("a", "x"),
        model("b", "a", resources=gpu),
        model("c", "b", resources=gpu),
        model("d", "a"),
        model("e", "c, d"),
    )
    found = plan(graph)
    assert names(found) == [["a", "d"], ["b", "c"], ["e"]], "what can run before the cut does"
    assert [stage.name for stage in found.stages] == ["e", "e/b", "e/e"]
    assert found.stages[1].resources == {
        "accelerator": "type:t4;count:1;install-nvidia-driver",
        "min_ram": "16GB",
    }
    assert [stage.reason for stage in found.stages] == [
        "the rows are read",
        "'b' needs other resources than the nodes before",
        "'e' needs other resources than the nodes before",
    ]
    assert alive_between(graph, found) == (("a", "d"), ("d", "c"))
    assert needs_stages(graph) == ("b", "c")


def test_a_stage_of_its_own(kinds: Kinds) -> None:
    found = plan(graph_of(kinds, model("a", "x"), model("b", "a", stage="own"), model("c", "b")))
    assert names(found) == [["a"], ["b"], ["c"]]
    assert "asks for a stage of its own" in found.stages[1].reason
    assert "'b' alone" in found.stages[2].reason


def test_rows_are_put_together_before_a_model_that_runs_on_some(kinds: Kinds) -> None:
    graph = graph_of(
        kinds, model("a", "x"), model("b", "x", when='"a > 0"'), model("c", "a, z"), model("d", "c")
    )
    found = plan(graph)
    assert names(found) == [["a", "c", "d"], ["b"]]
    assert found.stages[0].gathering is None
    assert found.stages[1].gathering is not None
    assert found.stages[1].gathering.node.spec.name == "b"
    assert found.stages[1].gathering.max_wait is None
    assert alive_between(graph, found) == (("x", "a", "d"),)
    assert needs_stages(graph) == (), "it runs fused as well, in smaller batches"


def test_nodes_after_the_cut_stay_with_it(kinds: Kinds) -> None:
    graph = graph_of(
        kinds,
        model("a", "x"),
        model("b", "x", when='"a > 0"'),
        model("c", "a"),
        "f: {combine: mean, inputs: [b, c], outputs: {f: double}}",
    )
    assert names(plan(graph)) == [["a", "c"], ["b", "f"]]


def test_the_rows_are_read_before_they_are_put_together(kinds: Kinds) -> None:
    found = plan(graph_of(kinds, model("a", "x", when='"z > 0"'), model("b", "x")))
    assert names(found) == [[], ["a", "b"]]
    assert [stage.name for stage in found.stages] == ["e", "e/a"]


def test_a_combiner_with_a_condition_is_cheap(kinds: Kinds) -> None:
    found = plan(
        graph_of(
            kinds, model("a", "x"), "m: {combine: mean, inputs: [a, z], outputs: {m: double}, when: 'a > 0'}"
        )
    )
    assert names(found) == [["a", "m"]]


@pytest.mark.parametrize(
    ("key", "code", "path"),
    [
        ("stage: mine", "bad_value", "nodes.a.stage"),
        ("resources: {ram: 16GB}", "unknown_option", "nodes.a.resources.ram"),
        ("resources: {min_ram: 16}", "wrong_type", "nodes.a.resources.min_ram"),
        ("resources: {min_ram: much}", "bad_value", "nodes.a.resources.min_ram"),
        ("resources: [gpu]", "wrong_type", "nodes.a.resources"),
    ],
)
def test_what_is_wrong(kinds: Kinds, key: str, code: str, path: str) -> None:
    with pytest.raises(InvalidEnsemble) as raised:
        graph_of(kinds, model("a", "x")[:-1] + f", {key}}}")
    assert [(problem.code, problem.path) for problem in raised.value.problems] == [(code, path)]
