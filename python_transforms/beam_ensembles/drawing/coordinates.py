"""Where the cells of a picture's layers stand: lines as straight as the order within each layer allows."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from beam_ensembles.drawing.layers import Cell, Layers, Link

PORT_GAP: Final = 20.0
"""The distance of two lines that begin or end at one figure."""

_GAP: Final = 22.0
_LINE_GAP: Final = 16.0
_ROUNDS: Final = 24
_STRAIGHT: Final = {0: 1.0, 1: 2.0, 2: 8.0}
"""What it is worth that a link is straight, by how many of its ends are points of a line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """Where things stand across the layers.

    Attributes:
        middle: The middle of each cell.
        leaves: Where each flow leaves a figure.
        enters: Where each flow enters a figure.
        height: The height of each figure.
    """

    middle: Mapping[Cell, float]
    leaves: Mapping[int, float]
    enters: Mapping[tuple[int, str], float]
    height: Mapping[str, float]


def places(layers: Layers, smallest: Callable[[str], float]) -> Places:
    """Places the cells of all layers.

    Args:
        layers: The cells in order.
        smallest: Gives the height that a figure needs for its texts.
    """
    rank = {cell: at for layer in layers.cells for at, cell in enumerate(layer)}
    leaves = _ports(layers.links, rank, lambda link: (link.start.figure, link.flow), lambda link: link.end)
    enters = _ports(layers.links, rank, lambda link: (link.end.figure, link.flow), lambda link: link.start)
    heights = {
        cell.figure: max(
            smallest(cell.figure), _room(leaves, cell.figure) + 14, _room(enters, cell.figure) + 14
        )
        for cell in rank
        if cell.figure
    }
    middle = _middles(layers, heights, leaves, enters)
    top = min(middle[cell] - heights.get(cell.figure, 0.0) / 2 for cell in rank)
    middle = {cell: at - top for cell, at in middle.items()}
    by_name = {cell.figure: at for cell, at in middle.items() if cell.figure}
    return Places(
        middle,
        {flow: by_name[name] + offset for (name, flow), offset in leaves.items()},
        {(flow, name): by_name[name] + offset for (name, flow), offset in enters.items()},
        heights,
    )


_Port = tuple[str, int]


def _ports(
    links: Sequence[Link],
    rank: Mapping[Cell, int],
    port: Callable[[Link], _Port],
    other: Callable[[Link], Cell],
) -> dict[_Port, float]:
    """Returns where flows meet a figure, from its middle: in the order in which they come from or go to the others."""
    ends: dict[_Port, list[int]] = {}
    for link in links:
        if port(link)[0]:
            ends.setdefault(port(link), []).append(rank[other(link)])
    by_figure: dict[str, list[_Port]] = {}
    for one in sorted(ends, key=lambda one: (sum(ends[one]) / len(ends[one]), one[1])):
        by_figure.setdefault(one[0], []).append(one)
    return {
        one: (at - (len(ports) - 1) / 2) * PORT_GAP
        for ports in by_figure.values()
        for at, one in enumerate(ports)
    }


def _room(ports: Mapping[_Port, float], figure: str) -> float:
    return PORT_GAP * (sum(name == figure for name, _ in ports) - 1)


def _middles(
    layers: Layers,
    heights: Mapping[str, float],
    leaves: Mapping[_Port, float],
    enters: Mapping[_Port, float],
) -> dict[Cell, float]:
    """Pulls the neighbours of each cell towards a straight line, layer by layer, back and forth."""
    pulls: dict[Cell, tuple[list[_Pull], list[_Pull]]] = {
        cell: ([], []) for layer in layers.cells for cell in layer
    }
    for link in layers.links:
        worth = _STRAIGHT[(not link.start.figure) + (not link.end.figure)]
        bend = leaves.get((link.start.figure, link.flow), 0.0) - enters.get((link.end.figure, link.flow), 0.0)
        pulls[link.end][0].append(_Pull(link.start, bend, worth))
        pulls[link.start][1].append(_Pull(link.end, -bend, worth))
    apart = [
        [_distance(one, next_, heights) for one, next_ in itertools.pairwise(layer)] for layer in layers.cells
    ]
    middle: dict[Cell, float] = {}
    for layer, distances in zip(layers.cells, apart, strict=True):
        at = -sum(distances) / 2
        for cell, distance in zip(layer, [*distances, 0.0], strict=True):
            middle[cell] = at
            at += distance
    for turn in range(_ROUNDS):
        forward, last = turn % 2 == 0, turn >= _ROUNDS - 4
        order = range(len(layers.cells)) if forward else range(len(layers.cells) - 1, -1, -1)
        for number in order:
            cells = layers.cells[number]
            used = [pulls[cell][0 if forward else 1] for cell in cells]
            if last:
                used = [[*pulls[cell][0], *pulls[cell][1]] for cell in cells]
            centre = sum(middle[cell] for cell in cells) / len(cells)
            wanted = [_wanted(found, middle, centre) for found in used]
            middle |= zip(cells, _nearest_in_order(wanted, apart[number]), strict=True)
    return middle


@dataclasses.dataclass(frozen=True, slots=True)
class _Pull:
    to: Cell
    bend: float
    worth: float


def _wanted(pulls: Sequence[_Pull], middle: Mapping[Cell, float], centre: float) -> tuple[float, float]:
    """Returns where a cell would best stand, and what that is worth; one that nothing pulls, with the others."""
    worth = sum(pull.worth for pull in pulls)
    if not worth:
        return centre, 0.01
    return sum((middle[pull.to] + pull.bend) * pull.worth for pull in pulls) / worth, worth


def _distance(one: Cell, other: Cell, heights: Mapping[str, float]) -> float:
    gap = _GAP if one.figure and other.figure else _LINE_GAP
    return (heights.get(one.figure, 0.0) + heights.get(other.figure, 0.0)) / 2 + gap


def _nearest_in_order(wanted: Sequence[tuple[float, float]], apart: Sequence[float]) -> list[float]:
    """Returns the places nearest to the wanted ones that keep the order and the distances.

    Least squares under an order is isotonic regression: neighbours that want to pass each other share a place.
    """
    shift = 0.0
    blocks: list[tuple[float, float, int]] = []  # sum of worth times place, worth, number of cells
    for (place, worth), distance in zip(wanted, [0.0, *apart], strict=True):
        shift += distance
        blocks.append(((place - shift) * worth, worth, 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            right, left = blocks.pop(), blocks.pop()
            blocks.append((left[0] + right[0], left[1] + right[1], left[2] + right[2]))
    shared = [total / worth for total, worth, count in blocks for _ in range(count)]
    shift = 0.0
    found = []
    for place, distance in zip(shared, [0.0, *apart], strict=True):
        shift += distance
        found.append(place + shift)
    return found
