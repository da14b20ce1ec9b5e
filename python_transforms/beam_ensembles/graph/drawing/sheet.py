"""Where everything of a picture stands on the sheet: boxes, lines, labels and stages.

Layers go from left to right. Between two of them there is room for the names of the columns that leave the first, then
for curves, then for the conditions of the second: no text stands on a curve.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from beam_ensembles.graph.drawing.layers import Cell, Layers
from beam_ensembles.graph.drawing.picture import COMPARISON, CONDITION, DATA, Figure, Picture
from beam_ensembles.graph.drawing.places import Places
from beam_ensembles.graph.drawing.shapes import inset, number, size_of
from beam_ensembles.graph.drawing.words import cut, few, fitting, width, wrapped

_LABEL_SIZE: Final = 11.0
_CURVE: Final = 26.0
_STEEPEST: Final = 0.14
_PAD: Final = 16.0
_HEAD: Final = 9.0
_LONGEST_CONDITION: Final = 42
_LINE: Final = 14.0


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    """A figure's rectangle."""

    x: float
    y: float
    wide: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a flow: its path, what it is for, where its arrow's tip is, whether it comes from a shadow."""

    path: str
    role: str
    head: tuple[float, float] | None = None
    dashed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    """A text on a line: of the columns, where it begins; of a condition, where it ends."""

    text: str
    about: str
    x: float
    y: float
    is_condition: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Band:
    """The box of a stage, over the picture's whole height."""

    name: str
    reason: str
    left: float
    right: float
    lines: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Sheet:
    """Everything in its place."""

    width: float
    height: float
    boxes: Mapping[str, Box]
    pieces: tuple[Piece, ...]
    labels: tuple[Label, ...]
    stages: tuple[Band, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Column:
    """What a layer takes from left to right: lines enter, figures, names of columns end."""

    enters: float
    left: float
    right: float
    leaves: float


def sheet(picture: Picture, layers: Layers, places: Places) -> Sheet:
    """Puts a picture on a sheet, its upper left corner at zero."""
    columns = _columns(picture, layers, places)
    bands = tuple(_bands(picture, layers, columns))
    top = max([30 + _LINE * len(band.lines) for band in bands], default=_LINE)
    figures = {figure.name: figure for figure in picture.figures}
    boxes = {}
    for cell, middle in places.middle.items():
        if cell.figure:
            column, high = columns[cell.layer], places.height[cell.figure]
            boxes[cell.figure] = Box(column.left, top + middle - high / 2, column.right - column.left, high)
    lines = _Lines(picture, layers, places, columns, boxes, figures, top)
    bottom = max(
        [*(box.y + box.high for box in boxes.values()), *(top + at for at in places.middle.values())]
    )
    pad = _PAD if bands else 0.0
    return Sheet(columns[-1].right, bottom + pad, boxes, tuple(lines.pieces), tuple(lines.labels), bands)


def _columns(picture: Picture, layers: Layers, places: Places) -> list[_Column]:
    figures = {figure.name: figure for figure in picture.figures}
    ends = {max(_layers_of(layers, stage.figures)) for stage in picture.stages}
    starts = {min(_layers_of(layers, stage.figures)) for stage in picture.stages}
    found: list[_Column] = []
    at = 0.0
    for number_, cells in enumerate(layers.cells):
        names = [cell.figure for cell in cells if cell.figure]
        conditions = [_condition_width(figures[name]) for name in names]
        if found:
            at += _CURVE + _STEEPEST * _steepest(layers, places, number_)
        at += _PAD if number_ in starts else 0.0
        left = at + (max([14.0, *conditions]) if found else 0.0)
        right = left + max((size_of(figures[name])[0] for name in names), default=0.0)
        leaving = [flow for flow in picture.flows if flow.source in names and flow.columns]
        labels = [width(few(flow.columns), _LABEL_SIZE) + 14 for flow in leaving]
        leaves = right + max([14.0, *labels])
        found.append(_Column(at, left, right, leaves))
        at = leaves + (_PAD if number_ in ends else 0.0)
    return found


def _layers_of(layers: Layers, names: Iterable[str]) -> list[int]:
    wanted = set(names)
    return [cell.layer for cells in layers.cells for cell in cells if cell.figure in wanted]


def _condition(figure: Figure) -> str:
    return f"when {cut(figure.condition, _LONGEST_CONDITION)}" if figure.condition else ""


def _condition_width(figure: Figure) -> float:
    return width(_condition(figure), _LABEL_SIZE) + _HEAD + 8 if figure.condition else 0.0


def _steepest(layers: Layers, places: Places, layer: int) -> float:
    """Gives how far down or up the longest curve to a layer goes."""
    return max(
        (
            abs(places.middle[link.start] - places.middle[link.end])
            for link in layers.links
            if link.end.layer == layer
        ),
        default=0.0,
    )


def _bands(picture: Picture, layers: Layers, columns: Sequence[_Column]) -> Iterable[Band]:
    for stage in picture.stages:
        found = _layers_of(layers, stage.figures)
        left, right = columns[min(found)].enters - _PAD, columns[max(found)].leaves + _PAD / 2
        room = right - left - 24
        title = fitting(f"stage {stage.name}", _LABEL_SIZE * 1.08, room)
        yield Band(
            stage.name, stage.reason, left, right, (title, *wrapped(stage.reason, _LABEL_SIZE, room, 3))
        )


class _Lines:
    """The pieces and labels of all flows."""

    def __init__(
        self,
        picture: Picture,
        layers: Layers,
        places: Places,
        columns: Sequence[_Column],
        boxes: Mapping[str, Box],
        figures: Mapping[str, Figure],
        top: float,
    ) -> None:
        self._picture, self._places, self._columns = picture, places, columns
        self._boxes, self._figures, self._top = boxes, figures, top
        self.pieces: list[Piece] = []
        self.labels: list[Label] = []
        self._judged: dict[str, Label] = {}
        for at, flow in enumerate(picture.flows):
            self._leave(at)
            for link in layers.links:
                if link.flow == at:
                    self._follow(at, link.start, link.end)
            if flow.columns:
                self._name(at)
        self.labels += self._judged.values()

    def _dashed(self, flow: int) -> bool:
        return self._figures[self._picture.flows[flow].source].is_shadow

    def _trunk(self, flow: int) -> str:
        """Gives the role of what all readers share."""
        roles = {role for _, role in self._picture.flows[flow].readers}
        return next(role for role in (DATA, CONDITION, COMPARISON) if role in roles)

    def _leave(self, flow: int) -> None:
        source = self._picture.flows[flow].source
        box, y = self._boxes[source], self._top + self._places.leaves[flow]
        below = y - box.y - box.high / 2
        x = box.x + box.wide - inset(self._figures[source].shape, box.wide, box.high, below, right=True)
        end = self._leaves(source)
        path = f"M{number(x)} {number(y)} H{number(end)}"
        self.pieces.append(Piece(path, self._trunk(flow), dashed=self._dashed(flow)))

    def _leaves(self, figure: str) -> float:
        return next(column.leaves for column in self._columns if column.left == self._boxes[figure].x)

    def _name(self, flow: int) -> None:
        one = self._picture.flows[flow]
        box = self._boxes[one.source]
        y = self._top + self._places.leaves[flow]
        self.labels.append(Label(few(one.columns), ", ".join(one.columns), box.x + box.wide + 6, y))

    def _follow(self, flow: int, start: Cell, end: Cell) -> None:
        """Draws the curve to the next layer, and what follows it there: the arrow, or the way through the layer."""
        x = self._columns[start.layer].leaves
        y = self._top + (self._places.leaves[flow] if start.figure else self._places.middle[start])
        to_x = self._columns[end.layer].enters
        bend = (x + to_x) / 2
        if not end.figure:
            to_y = self._top + self._places.middle[end]
            through = number(self._columns[end.layer].leaves)
            path = f"{_curve(x, y, bend, to_x, to_y)} H{through}"
            self.pieces.append(Piece(path, self._trunk(flow), dashed=self._dashed(flow)))
            return
        to_y = self._top + self._places.enters[flow, end.figure]
        figure, box = self._figures[end.figure], self._boxes[end.figure]
        below = to_y - box.y - box.high / 2
        tip = box.x + inset(figure.shape, box.wide, box.high, below, right=False)
        role = self._role(flow, end.figure)
        has_head = role != COMPARISON
        path = f"{_curve(x, y, bend, to_x, to_y)} H{number(tip - (_HEAD - 2 if has_head else 0))}"
        self.pieces.append(Piece(path, role, (tip, to_y) if has_head else None, self._dashed(flow)))
        if role == CONDITION:
            self._judge(figure, box, to_y)

    def _judge(self, figure: Figure, box: Box, y: float) -> None:
        """Writes a condition on the first of the lines that it reads."""
        label = Label(_condition(figure), f"when {figure.condition}", box.x - _HEAD - 2, y, True)
        known = self._judged.get(figure.name)
        if known is None or y < known.y:
            self._judged[figure.name] = label

    def _role(self, flow: int, figure: str) -> str:
        roles = {role for name, role in self._picture.flows[flow].readers if name == figure}
        return next(role for role in (CONDITION, DATA, COMPARISON) if role in roles)


def _curve(x: float, y: float, bend: float, to_x: float, to_y: float) -> str:
    middle, start, end = number(bend), f"{number(x)} {number(y)}", f"{number(to_x)} {number(to_y)}"
    return f"M{start} C{middle} {number(y)} {middle} {number(to_y)} {end}"
