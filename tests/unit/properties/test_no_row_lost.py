"""Whatever fails, every row comes out once: scored, or with the node that failed on it and the right code."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.registry import KINDS
from tests.unit.properties.cascades import by_stages
from tests.unit.properties.expressions import GREATER
from tests.unit.properties.graphs import INPUTS
from tests.unit.properties.moody import CODES, FORGETS, GOOD, RAISES, Moody
from tests.unit.properties.plain import Expression, PlainNode, Refused, Row, is_as_plain
from tests.unit.properties.ways import by_arrow, by_rows

CONDITIONS = (
    None,
    Expression("x > 0.3", ("x",), lambda row: GREATER(row["x"], 0.3)),
    Expression("r = 'a'", ("r",), lambda row: row["r"] == "a"),
    Expression("CAST(s AS BIGINT) > 0", ("s",), lambda row: _of_text(row["s"])),
)


def _of_text(text: str | None) -> bool | None:
    if text == "a":
        raise Refused("expression_failed")
    return None if text is None else int(text) > 0


def model(name: str, reads: str, more: Mapping[str, Any], **policies: Any) -> PlainNode:
    """A node that runs a model of its own, which is as moody as any."""

    def of(row: Row) -> dict[str, Any]:
        if row[reads] in CODES:
            raise Refused(CODES[row[reads]])
        return {f"{name}_out": row[reads] * 2}

    spec = {"model": "sklearn", "uri": f"{name}.joblib", "inputs": [reads], **more}
    spec["outputs"] = {f"{name}_out": "double"}
    return PlainNode(name, spec, (reads,), {f"{name}_out": "double"}, of, **policies)


def joined(quorum: int | None) -> PlainNode:
    """The mean of two models."""
    members = ("cheap_out", "deep_out")

    def of(row: Row) -> dict[str, Any]:
        there = [row[name] for name in members if row[name] is not None]
        return {"both": sum(there) / len(there)}

    more = {} if quorum is None else {"quorum": quorum}
    spec = {"combine": "mean", "inputs": list(members), "outputs": {"both": {}}, **more}
    return PlainNode("joined", spec, members, {"both": "double"}, of)


def policies() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "when": st.sampled_from(CONDITIONS),
            "on_error": st.sampled_from([None, "fail_row", "nullify", "default"]),
        }
    )


@st.composite
def cascades(draw: st.DrawFn) -> tuple[PlainNode, ...]:
    nodes = []
    for name, reads in (("cheap", "x"), ("deep", "y"), ("last", "cheap_out")):
        more: dict[str, Any] = {"batch": {"max": draw(st.integers(1, 6))}} if draw(st.booleans()) else {}
        if draw(st.integers(0, 3)) == 0:
            more["stage"] = "own"
        own = draw(policies())
        nodes.append(model(name, reads, more, **own, defaults={f"{name}_out": -4.0}))
    return (*nodes, joined(draw(st.sampled_from([None, 1, 2]))))


VALUES = st.sampled_from([*GOOD * 3, RAISES, FORGETS])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            **dict.fromkeys(INPUTS, st.none()),
            "x": VALUES | st.just(RAISES / 2),  # twice that is what the next model raises at
            "y": VALUES | st.none(),
            "r": st.sampled_from(["a", "b"]),
            "s": st.sampled_from(["1", "-1", "a", None]),
        }
    ),
    min_size=1,
    max_size=20,
)
UPSET = st.frozensets(st.integers(1, 12), max_size=5)


def graph_of(folder: Path, nodes: Sequence[PlainNode], upset: frozenset[int]) -> EnsembleGraph:
    for node in nodes:
        if "model" in node.spec:
            joblib.dump(Moody(upset), folder / node.spec["uri"])
    inputs = {name: type_ for name, (_, type_) in INPUTS.items()}
    outputs = [column for node in nodes for column in node.gives]
    file = {
        "ensemble": "cascade",
        "inputs": inputs,
        "nodes": {node.name: node.as_in_file() for node in nodes},
        "outputs": outputs,
    }
    return check_text(json.dumps(file), KINDS, Files(str(folder), (str(folder),)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@settings(max_examples=60)
@given(cascades(), ROWS, UPSET, st.integers(1, 7), st.integers(1, 4))
def test_every_row_comes_out_once(
    folder: Path,
    nodes: tuple[PlainNode, ...],
    rows: list[Row],
    upset: frozenset[int],
    batch: int,
    bundle: int,
) -> None:
    """Each way makes sure that there is one outcome a row; here they are compared with what plain Python gives."""
    graph = graph_of(folder, nodes, upset)
    for found in (
        by_rows(graph, rows),
        by_stages(graph, rows, batch, bundle),
        by_arrow(graph, rows, fused=False)[0],
    ):
        is_as_plain(nodes, rows, ("x", "r"), found)


@given(
    st.integers(1, 400), st.frozensets(st.integers(0, 399), max_size=6), st.sampled_from([RAISES, FORGETS])
)
def test_finding_the_bad_rows_takes_few_calls(count: int, bad: frozenset[int], mark: float) -> None:
    values = np.full((count, 1), 0.5)
    bad = frozenset(at for at in bad if at < count)
    values[list(bad)] = mark
    calls: list[int] = []
    moody = Moody()

    def member(columns: Mapping[str, Any]) -> dict[str, Any]:
        calls.append(len(columns["x"]))
        found = moody.predict(columns["x"])
        if len(found) != len(columns["x"]):
            raise ValueError("too few")
        return {"made": found}

    made, faults = run_split(member, {"x": values}, count)
    assert set(faults) == bad
    assert len(made.get("made", ())) == count - len(bad)
    assert len(calls) <= 1 + 2 * len(bad) * math.ceil(math.log2(max(count, 2)))
