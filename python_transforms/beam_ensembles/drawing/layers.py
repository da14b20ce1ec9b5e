"""Which layer of a picture each figure stands in, and in which order within it: few crossings, always the same.

The layered drawing of Sugiyama, Tagawa and Toda: a line over several layers gets a point in each of those between, and
layers are sorted by where their neighbours are, forth and back.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.drawing.picture import ROW_IN, ROW_OUT, Picture

_SWEEPS: Final = 24


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """A figure, or a point that a line goes through.

    Attributes:
        layer: The layer that it stands in.
        figure: The figure's name, or empty.
        flow: The flow whose point it is, or -1.
    """

    layer: int
    figure: str = ""
    flow: int = -1


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A piece of a flow between a cell and one of the next layer."""

    flow: int
    start: Cell
    end: Cell


@dataclasses.dataclass(frozen=True, slots=True)
class Layers:
    """The cells of each layer in order, and what links those of one with those of the next."""

    cells: tuple[tuple[Cell, ...], ...]
    links: tuple[Link, ...]


def layers(picture: Picture) -> Layers:
    """Puts the figures of a picture in layers: each after those that it reads from, each stage after the one before."""
    ranks = _ranks(picture)
    links = tuple(_links(picture, ranks))
    found: list[list[Cell]] = [[] for _ in range(max(ranks.values()) + 1)]
    cells = [Cell(ranks[figure.name], figure.name) for figure in picture.figures]
    cells += [link.end for link in links if not link.end.figure]
    for cell in dict.fromkeys(cells):
        found[cell.layer].append(cell)
    return Layers(tuple(map(tuple, _sorted(found, links))), links)


def _ranks(picture: Picture) -> dict[str, int]:
    read: dict[str, list[str]] = {figure.name: [] for figure in picture.figures}
    readers: dict[str, list[str]] = {figure.name: [] for figure in picture.figures}
    for flow in picture.flows:
        for reader, _ in flow.readers:
            read[reader].append(flow.source)
            readers[flow.source].append(reader)
    ranks = {ROW_IN: 0}
    end = 0
    names = [figure.name for figure in picture.figures if figure.name not in (ROW_IN, ROW_OUT)]
    for members in [stage.figures for stage in picture.stages] or [tuple(names)]:
        start = end + 1
        for name in members:
            ranks[name] = max([start, *(ranks[source] + 1 for source in read[name])])
        end = max((ranks[name] for name in members), default=start)
        _move_to_readers(members, read, readers, ranks, end)
    ranks[ROW_OUT] = end + 1
    return ranks


def _move_to_readers(
    members: Sequence[str],
    read: Mapping[str, Sequence[str]],
    readers: Mapping[str, Sequence[str]],
    ranks: dict[str, int],
    end: int,
) -> None:
    """Moves figures of a stage towards those that read them, where that shortens lines or lengthens none."""
    for name in reversed(members):
        nearest = min((ranks.get(reader, end + 1) for reader in readers[name]), default=0) - 1
        if len(set(readers[name])) >= len(set(read[name])):
            ranks[name] = max(ranks[name], min(nearest, end))


def _links(picture: Picture, ranks: Mapping[str, int]) -> list[Link]:
    """Returns the pieces of all flows; one that goes on over a layer has one point there, whoever reads it after."""
    links: list[Link] = []
    for at, flow in enumerate(picture.flows):
        last = Cell(ranks[flow.source], flow.source)
        targets = [Cell(ranks[reader], reader) for reader in dict.fromkeys(name for name, _ in flow.readers)]
        for layer in range(last.layer + 1, max(target.layer for target in targets) + 1):
            links += [Link(at, last, target) for target in targets if target.layer == layer]
            if any(target.layer > layer for target in targets):
                links.append(Link(at, last, Cell(layer, flow=at)))
                last = links[-1].end
    return links


def _sorted(cells: list[list[Cell]], links: Sequence[Link]) -> list[list[Cell]]:
    before: dict[Cell, list[Cell]] = {cell: [] for layer in cells for cell in layer}
    after: dict[Cell, list[Cell]] = {cell: [] for layer in cells for cell in layer}
    for link in links:
        before[link.end].append(link.start)
        after[link.start].append(link.end)
    best, fewest = [list(layer) for layer in cells], _crossings(cells, after)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        at = range(1, len(cells)) if forward else range(len(cells) - 2, -1, -1)
        for layer in at:
            near = cells[layer - 1] if forward else cells[layer + 1]
            cells[layer] = _by_neighbours(cells[layer], near, before if forward else after)
        found = _crossings(cells, after)
        if found < fewest:
            best, fewest = [list(layer) for layer in cells], found
    return best


def _by_neighbours(
    cells: Sequence[Cell], near: Sequence[Cell], neighbours: Mapping[Cell, Sequence[Cell]]
) -> list[Cell]:
    place = {cell: at for at, cell in enumerate(near)}
    own = {cell: at * len(near) / len(cells) for at, cell in enumerate(cells)}

    def mean(cell: Cell) -> float:
        found = [place[one] for one in neighbours[cell]]
        return sum(found) / len(found) if found else own[cell]

    return sorted(cells, key=mean)


def _crossings(cells: Sequence[Sequence[Cell]], after: Mapping[Cell, Sequence[Cell]]) -> int:
    count = 0
    for layer, following in itertools.pairwise(cells):
        place = {cell: at for at, cell in enumerate(following)}
        ends: list[int] = []
        for cell in layer:
            mine = sorted(place[one] for one in after[cell])
            count += sum(end > one for one in mine for end in ends)
            ends += mine
    return count
