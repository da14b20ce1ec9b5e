"""Ten times the file takes less than thirty times as long to check, whatever is in it, also where much is wrong."""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from beam_ensembles.drawing import mermaid, picture
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, check_text, plan
from beam_ensembles.graph.planning import alive_between
from beam_ensembles.registry import KINDS

_SMALL: Final = 100
_MOST: Final = 30.0
"""Between ten, what is linear, and a hundred, what is quadratic."""
_NOISE: Final = 0.05
"""Seconds that a measurement may be wrong by."""


def _file(nodes: list[str], inputs: str = "x: double", more: str = "") -> str:
    lines = "".join(f"  {node}\n" for node in nodes)
    return f"ensemble: e\ninputs: {{{inputs}}}\nnodes:\n{lines}{more}"


def _names(name: str, count: int) -> str:
    return ", ".join(f"{name}{at}" for at in range(count))


def _sql(name: str, expression: str, more: str = "") -> str:
    return f"n{name}: {{apply: sql, select: {{c{name}: {expression}}}{more}}}"


FILES: Final[dict[str, Callable[[int], str]]] = {
    "nodes": lambda n: _file([_sql(str(at), f"x + {at}") for at in range(n)]),
    "chain": lambda n: _file([_sql("0", "x"), *(_sql(str(at), f"c{at - 1}") for at in range(1, n))]),
    "cycle": lambda n: _file([_sql(str(at), f"c{(at - 1) % n}") for at in range(n)]),
    "cycles": lambda n: _file([_sql(str(at), f"c{at ^ 1}") for at in range(n)]),
    "unknown columns of one node": lambda n: _file(
        [f"m: {{combine: mean, inputs: [{_names('col', n)}], outputs: {{y: double}}}}"],
        ", ".join(f"cot{at}: double" for at in range(n)),
    ),
    "unknown columns of many nodes": lambda n: _file(
        [f"n{at}: {{combine: mean, inputs: [knwn{at}, x], outputs: {{c{at}: double}}}}" for at in range(n)],
        ", ".join(f"known{at}: double" for at in range(n)),
    ),
    "unknown columns of expressions": lambda n: _file(
        [f"m: {{apply: sql, select: {{{', '.join(f'c{at}: kk{at}' for at in range(n))}}}}}"],
        ", ".join(f"k{at}: double" for at in range(n)),
    ),
    "unknown outputs": lambda n: _file([_sql("0", "x")], more=f"outputs: [{_names('k', n)}]\n"),
    "unknown shadows": lambda n: _file([_sql(str(at), "x", ", shadow_of: mm") for at in range(n)]),
    "unknown keys": lambda n: _file([_sql("0", "x", "".join(f", zz{at}: 1" for at in range(n)))]),
    "unknown parameters": lambda n: _file([_sql(str(at), "x", f", z: '${{p{at}}}'") for at in range(n)]),
    "unknown defaults": lambda n: _file(
        [_sql("0", "x", f", on_error: {{default: {{{', '.join(f'k{at}: 1' for at in range(n))}}}}}")]
    ),
    "disabled": lambda n: _file(
        [_sql(str(at), "x", ", enabled: false") for at in range(n)]
        + [f"m{at}: {{apply: sql, select: {{d{at}: c{at}}}}}" for at in range(n)]
    ),
    "inputs of a node": lambda n: _file(
        [f"m: {{combine: mean, inputs: [{_names('k', n)}], outputs: {{y: double}}}}"],
        ", ".join(f"k{at}: double" for at in range(n)),
    ),
    "outputs twice": lambda n: _file([_sql("0", "x")], more=f"outputs: [{', '.join(['c0'] * n)}]\n"),
    "unused nodes": lambda n: _file([_sql(str(at), "x") for at in range(n)], more="outputs: [c0]\n"),
    "cases": lambda n: _file(
        [
            "r: {route: switch, default: a, cases: ["
            + ", ".join(f"{{when: 'x > {at}', arm: a{at}}}" for at in range(n))
            + "], outputs: {r: string}}"
        ]
    ),
    "type": lambda n: _file(
        [_sql("0", "x")], "x: 'row<" + ", ".join(f"f{at}: double" for at in range(5 * n)) + ">'"
    ),
    "labels of a vote": lambda n: _file(
        [
            f"a: {{combine: hard_vote, inputs: [x, x], labels: [{', '.join(map(str, range(3 * n)))}], "
            "outputs: {c: {from: label}, p: {from: probabilities}}}",
            f"v: {{combine: hard_vote, inputs: [{', '.join(['c'] * 3 * n)}], outputs: {{label: null}}}}",
            f"w: {{combine: soft_vote, inputs: [{', '.join(['p'] * 3 * n)}], outputs: {{l: {{from: label}}}}}}",
        ],
        "x: int64",
    ),
    "duplicate keys": lambda n: _file(["n: {apply: sql, select: {c: x}}"] * n),
}


def _checked(text: str) -> EnsembleGraph | None:
    with contextlib.suppress(InvalidEnsemble):
        return check_text(text, KINDS, Files())
    return None


@pytest.fixture(autouse=True, scope="module")
def _collects_no_garbage() -> Iterator[None]:
    """The garbage collector, which would look through all that other tests left, does not run while time is taken."""
    gc.disable()
    yield
    gc.enable()


def _seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _least_seconds(call: Callable[[], object], most: float) -> float:
    """Returns the time of the shortest of three calls, or of the first that takes less than ``most``."""
    least = math.inf
    for _ in range(3):
        if (least := min(_seconds(call), least)) < most:
            break
    return least


@pytest.mark.parametrize("name", FILES)
def test_checks_take_time_that_grows_with_the_file(name: str) -> None:
    small, large = FILES[name](_SMALL), FILES[name](10 * _SMALL)
    _checked(small)
    fast = min(_seconds(lambda: _checked(small)) for _ in range(3))
    slow = _least_seconds(lambda: _checked(large), most := _MOST * fast + _NOISE)
    assert slow < most, f"{fast:.3f} s, then {slow:.3f} s"


@pytest.mark.parametrize("name", ["nodes", "chain", "inputs of a node"])
def test_plans_and_pictures_take_time_that_grows_with_the_file(name: str) -> None:
    def work(graph: EnsembleGraph | None) -> None:
        assert graph is not None
        stages = plan(graph)
        alive_between(graph, stages)
        mermaid(picture(graph, stages))

    small, large = _checked(FILES[name](_SMALL)), _checked(FILES[name](10 * _SMALL))
    fast = min(_seconds(lambda: work(small)) for _ in range(3))
    slow = _least_seconds(lambda: work(large), most := _MOST * fast + _NOISE)
    assert slow < most, f"{fast:.3f} s, then {slow:.3f} s"


def test_a_chain_of_two_thousand_nodes_is_no_recursion() -> None:
    graph = _checked(FILES["chain"](2_000))
    assert graph is not None
    assert [len(stage.nodes) for stage in plan(graph).stages] == [2_000]


def test_thousands_of_unknown_columns_are_answered_soon() -> None:
    text = FILES["unknown columns of many nodes"](2_000)
    assert _seconds(lambda: _checked(text)) < 8.0
