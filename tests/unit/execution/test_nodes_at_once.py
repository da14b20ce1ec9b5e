"""Nodes that do not need each other run at one time: the answers are those of one after another."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression

from beam_ensembles import logs
from beam_ensembles.errors import NodeFailed
from beam_ensembles.execution import node_steps
from beam_ensembles.graph.core_use import nodes_beside
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.metrics.local import counting
from beam_ensembles.metrics.values import EnsembleMetrics
from beam_ensembles.processes.cores import Cores
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from beam_ensembles.runtime.loading import graph_of_file
from tests.support.machines import Have
from tests.support.machines import have as have
from tests.support.patience import SECONDS

FLOWERS = load_iris()
MODEL = LinearRegression().fit(FLOWERS.data, FLOWERS.target)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    joblib.dump(MODEL, tmp_path / "line.joblib")
    return tmp_path


@pytest.fixture
def cores(have: Have, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Cores]:
    """Treats every call as a long one, and gives this process so many cores."""
    monkeypatch.setattr(node_steps, "WORTH_NANOSECONDS", -1)
    return lambda count: have(cores=count).cores


def handler(folder: Path, *nodes: str) -> EnsembleModelHandler:
    file = folder / "ensemble.yaml"
    lines = "".join(f"  {node}\n" for node in nodes)
    file.write_text(
        'ensemble: at_once\ninputs: {x: "array<double>[4]", y: "array<double>[4]", z: double}\n'
        f"nodes:\n{lines}"
    )
    return EnsembleModelHandler(file)


def line(name: str, column: str, more: str = "") -> str:
    return (
        f"{name}: {{model: sklearn, uri: line.joblib, inputs: [{column}], outputs: {{{name}: double}}{more}}}"
    )


def patch(model: Any, **members: Callable[[Columns], Columns]) -> None:
    """Replaces the members of nodes of a loaded stage."""
    for step in model._steps.settled({}).steps:
        if step._name in members:
            step.member = members[step._name]


def answered(made: EnsembleModelHandler, model: Any, rows: list[Any]) -> list[Any]:
    found = [result.inference for result in made.run_inference(rows, model)]
    return [(one.node, one.code) if hasattr(one, "code") else rounded(one._asdict()) for one in found]


def counts(metrics: EnsembleMetrics) -> list[tuple[str, int, int, int]]:
    """Returns how many rows each node has answered, failed on and skipped."""
    return [(one.node, one.num_inferences, one.failed_rows, one.skipped_rows) for one in metrics.nodes]


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Leaves out the last digits, in which a product of matrices differs with the number of rows."""
    return {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()}


def rows(count: int, **bad: tuple[int, ...]) -> list[Any]:
    """Returns rows; scikit-learn refuses the NaN in ``x`` and ``y`` of some."""
    values = np.resize(FLOWERS.data, (count, 4)).tolist()
    nan = [math.nan] * 4
    return [
        beam.Row(
            x=nan if at in bad.get("x", ()) else value,
            y=nan if at in bad.get("y", ()) else value,
            z=float(at),
        )
        for at, value in enumerate(values)
    ]


def test_which_nodes_need_nothing_of_each_other(folder: Path) -> None:
    handler(
        folder,
        line("a", "x"),
        line("b", "y"),
        "both: {combine: mean, inputs: [a, b], outputs: {both: double}}",
        "t: {apply: softmax, inputs: [x], outputs: {t: 'array<double>[4]'}}",
        line("c", "t"),
        line("d", "x", ", when: both > 0"),
        remote("e"),
    )
    nodes = graph_of_file(folder / "ensemble.yaml").nodes
    names = [node.spec.name for node in nodes]
    beside = {
        name: {names[at] for at in others} for name, others in zip(names, nodes_beside(nodes), strict=True)
    }
    assert beside["a"] == {"b", "e"}
    assert beside["c"] - {"e"} == ({"d"} if names.index("c") < names.index("d") else set())
    assert beside["both"] | beside["t"] <= {"e"}


def test_they_run_at_one_time_where_there_are_cores(folder: Path, cores: Callable[[int], None]) -> None:
    cores(2)
    made = handler(folder, line("a", "x"), line("b", "y"))
    model = made.load_model()
    meet = threading.Barrier(2, timeout=SECONDS)
    about = {}

    def member(name: str) -> Callable[[Columns], Columns]:
        def call(columns: Columns) -> Columns:
            about[name] = logs.ABOUT.get()["node"]
            meet.wait()
            return {name: np.zeros(3)}

        return call

    patch(model, a=member("a"), b=member("b"))
    assert [row["b"] for row in answered(made, model, rows(3))] == [0.0] * 3
    assert about == {"a": "a", "b": "b"}


def test_one_core_does_one_thing_at_a_time(folder: Path, cores: Callable[[int], None]) -> None:
    cores(1)
    made = handler(folder, line("a", "x"), line("b", "y"))
    model = made.load_model()
    threads = set()

    def call(columns: Columns) -> Columns:
        threads.add(threading.current_thread())
        return {"b": np.zeros(3)}

    patch(model, b=call)
    answered(made, model, rows(3))
    assert threads == {threading.current_thread()}


def remote(name: str, more: str = "") -> str:
    asks = "model: chat, url: 'http://localhost:1/v1', name: m, text: true, messages: [{role: user, content: '{z}'}]"
    return f"{name}: {{{asks}, inputs: [z], outputs: {{{name}: string}}{more}}}"


def test_what_waits_for_a_server_needs_no_core(folder: Path, have: Have) -> None:
    """Three calls of servers are under way at one time, beside a batch that uses the only core; the first ones, too."""
    only = have(cores=1).cores
    made = handler(folder, remote("a"), remote("b"), remote("c"))
    model = made.load_model()
    meet = threading.Barrier(3, timeout=SECONDS)

    def member(name: str) -> Callable[[Columns], Columns]:
        def call(columns: Columns) -> Columns:
            meet.wait()
            return {name: np.array([name] * 3, object)}

        return call

    patch(model, a=member("a"), b=member("b"), c=member("c"))
    with only.one_used():
        assert [(row["a"], row["c"]) for row in answered(made, model, rows(3))] == [("a", "c")] * 3
    assert only._spare == 1


@pytest.mark.parametrize("policy", ["", ", on_error: nullify", ", on_error: {default: {b: -1}}"])
@pytest.mark.parametrize("condition", ["", ", when: z > 2"])
@pytest.mark.parametrize(
    "bad",
    [{}, {"x": (0, 3)}, {"y": (3, 5)}, {"x": (0, 3), "y": (3, 5)}, {"x": tuple(range(8))}],
    ids=str,
)
def test_answers_errors_and_counts_are_those_of_one_after_another(
    folder: Path, cores: Callable[[int], None], policy: str, condition: str, bad: dict[str, Any]
) -> None:
    nodes = line("a", "x"), line("b", "y", policy + condition), line("c", "x")
    found = {}
    for count in (1, 8):
        cores(count)
        made = handler(folder, *nodes)
        model = made.load_model()
        with counting() as counted:
            found[count] = answered(made, model, rows(8, **bad)), counts(*counted())
    assert found[8] == found[1]


def test_all_nodes_count_where_the_batch_is_counted(folder: Path, cores: Callable[[int], None]) -> None:
    cores(2)
    made = handler(folder, line("a", "x"), line("b", "y", ", when: z > 2, on_error: nullify"))
    model = made.load_model()
    with counting() as counted:
        answered(made, model, rows(8, y=(4,)))
    ((a, b),) = (metrics.nodes for metrics in counted())
    assert (a.num_inferences, b.num_inferences, b.failed_rows, b.skipped_rows) == (8, 4, 1, 3)


def test_a_node_that_fails_the_bundle_waits_for_what_it_began(
    folder: Path, cores: Callable[[int], None]
) -> None:
    cores(2)
    made = handler(folder, line("a", "x", ", on_error: fail"), line("b", "y"))
    model = made.load_model()
    began, ended = threading.Event(), []

    def first(columns: Columns) -> Columns:
        began.wait(SECONDS)
        raise ValueError("no")

    def second(columns: Columns) -> Columns:
        began.set()
        ended.append(True)
        return {"b": np.zeros(3)}

    patch(model, a=first, b=second)
    with pytest.raises(NodeFailed, match=r"nodes\.a"):
        answered(made, model, rows(3))
    assert ended == [True]
    assert this_machine().cores._spare == 2
