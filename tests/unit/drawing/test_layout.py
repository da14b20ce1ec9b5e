"""The layout: nothing overlaps, every line arrives, and simple graphs are drawn simply."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_ensembles.drawing import Picture
from beam_ensembles.drawing.coordinates import places
from beam_ensembles.drawing.layers import layers
from beam_ensembles.drawing.picture import COMPARISON, ROW_IN, ROW_OUT, StageBox
from beam_ensembles.drawing.placement import Sheet, sheet
from beam_ensembles.drawing.shapes import size_of
from beam_ensembles.drawing.words import width
from tests.unit.drawing.conftest import drawn

KINDS = ({"model": "sklearn"}, {"combine": "mean"}, {"route": "split"}, {"apply": "sql"})


def placed(picture: Picture) -> Sheet:
    figures = {figure.name: figure for figure in picture.figures}
    found = layers(picture)
    return sheet(picture, found, places(found, lambda name: size_of(figures[name])[1]))


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    """Any acyclic graph, with conditions, shadows and stages."""
    count = draw(st.integers(1, 14))
    inputs = [f"in_{at}" for at in range(draw(st.integers(1, 5)))]
    columns = list(inputs)
    nodes: dict[str, Any] = {}
    for at in range(count):
        read = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=4, unique=True))
        added = [f"column_{at}_{number}" for number in range(draw(st.integers(1, 3)))]
        node: dict[str, Any] = dict(draw(st.sampled_from(KINDS)))
        node |= {"inputs": read, "outputs": dict.fromkeys(added, "double")}
        if draw(st.booleans()):
            node["when"] = f"{draw(st.sampled_from(columns))} > 0.5"
        alike = [
            name
            for name, one in nodes.items()
            if len(one["outputs"]) == len(added) and "shadow_of" not in one
        ]
        if alike and draw(st.integers(0, 4)) == 0:
            node["shadow_of"] = draw(st.sampled_from(alike))
        nodes[f"node_{at}"] = node
        columns += added
    text = json.dumps({"ensemble": "any", "inputs": dict.fromkeys(inputs, "double"), "nodes": nodes})
    picture = drawn(text)
    cuts = sorted(draw(st.sets(st.integers(1, count))) | {0, count})
    names = [f"node_{at}" for at in range(count)]
    stages = [StageBox(f"any/{a}", "a reason", tuple(names[a:b])) for a, b in itertools.pairwise(cuts)]
    return dataclasses.replace(picture, stages=tuple(stages) if draw(st.booleans()) else ())


def overlapping(areas: Iterable[tuple[str, float, float, float, float]]) -> list[tuple[str, str]]:
    """Returns the names of the areas (name, left, top, right, bottom) that share more than a rim."""
    return [
        (a[0], b[0])
        for a, b in itertools.combinations(areas, 2)
        if a[1] < b[3] - 0.5 and b[1] < a[3] - 0.5 and a[2] < b[4] - 0.5 and b[2] < a[4] - 0.5
    ]


@settings(deadline=None, max_examples=25)
@given(picture=pictures())
def test_nothing_overlaps(picture: Picture) -> None:
    found = placed(picture)
    areas = [(name, box.x, box.y, box.x + box.wide, box.y + box.high) for name, box in found.boxes.items()]
    for label in found.labels:
        wide = width(label.text, 11)
        left = label.x - wide if label.is_condition else label.x
        areas.append((label.text, left, label.y - 14, left + wide, label.y))
    assert overlapping(areas) == []
    assert all(min(left, top) >= 0 and right <= found.width + 0.1 and bottom <= found.height + 0.1
               for _, left, top, right, bottom in areas)  # fmt: skip


@settings(deadline=None, max_examples=25)
@given(picture=pictures())
def test_every_reader_has_its_arrow(picture: Picture) -> None:
    found = placed(picture)
    wanted = sum(len({name for name, role in flow.readers if role != COMPARISON}) for flow in picture.flows)
    assert sum(piece.head is not None for piece in found.pieces) == wanted
    for piece in found.pieces:
        if piece.head is not None:
            x, y = piece.head
            assert any(box.x <= x <= box.x + box.wide / 2 and box.y <= y <= box.y + box.high
                       for box in found.boxes.values())  # fmt: skip


@settings(deadline=None, max_examples=25)
@given(picture=pictures())
def test_what_is_read_stands_before_who_reads_it_and_stages_stand_apart(picture: Picture) -> None:
    found = placed(picture)
    for flow in picture.flows:
        box = found.boxes[flow.source]
        assert all(found.boxes[name].x > box.x + box.wide for name, _ in flow.readers)
    for one, next_ in itertools.pairwise(found.stages):
        assert one.right < next_.left
    for stage, band in zip(picture.stages, found.stages, strict=True):
        inside = {name for name, box in found.boxes.items() if band.left < box.x < band.right}
        assert inside == set(stage.figures)


def test_a_chain_is_one_straight_line() -> None:
    nodes = {
        f"n{at}": {"apply": "softmax", "inputs": [f"c{at}"], "outputs": {f"c{at + 1}": "double"}}
        for at in range(6)
    }
    found = placed(drawn(json.dumps({"ensemble": "chain", "inputs": {"c0": "double"}, "nodes": nodes})))
    assert {round(box.y + box.high / 2, 1) for box in found.boxes.values()} == {
        found.boxes["n0"].y + 27.0 - 1.5
    }


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_lines_cross_only_where_they_must(order: tuple[int, ...]) -> None:
    """Four chains of two nodes, listed in any order, are four lines beside each other."""
    first = {
        f"a{at}": {"apply": "softmax", "inputs": ["x"], "outputs": {f"c{at}": "double"}} for at in range(4)
    }
    second = {
        f"b{at}": {"apply": "softmax", "inputs": [f"c{at}"], "outputs": {f"d{at}": "double"}} for at in order
    }
    found = placed(
        drawn(json.dumps({"ensemble": "ladder", "inputs": {"x": "double"}, "nodes": first | second}))
    )
    for at in range(4):
        one, other = found.boxes[f"a{at}"], found.boxes[f"b{at}"]
        assert one.y + one.high / 2 == pytest.approx(other.y + other.high / 2, abs=0.6)


def test_a_figure_stands_near_its_only_reader(review: Picture) -> None:
    """The shadow reads early; the arm is read late. Both stand where lines are short."""
    found = placed(dataclasses.replace(review, stages=()))
    columns = sorted({box.x for box in found.boxes.values()})
    at = {name: columns.index(box.x) for name, box in found.boxes.items()}
    assert at[ROW_IN] == 0
    assert at[ROW_OUT] == len(columns) - 1
    assert at["arm"] == at["expert"] - 1
