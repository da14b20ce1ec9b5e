"""Where everything of a picture stands on the sheet.

Layers go from left to right. Between two of them there is room for the names of the columns that leave the first, then
for curves, then for the conditions of the second: no text stands on a curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from beam_ensembles.drawing.coordinates import Places
from beam_ensembles.drawing.layers import Layers
from beam_ensembles.drawing.lines import Lines
from beam_ensembles.drawing.picture import Figure, Picture
from beam_ensembles.drawing.shapes import size_of
from beam_ensembles.drawing.what_to_draw import HEAD, LABEL_SIZE, Band, Box, Column, Sheet, condition_of
from beam_ensembles.drawing.words import few, fitting, width, wrapped

_CURVE: Final = 26.0
_STEEPEST: Final = 0.14
_PAD: Final = 16.0
_LINE: Final = 14.0


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
    lines = Lines(picture, layers, places, columns, boxes, figures, top)
    bottom = max(
        [*(box.y + box.high for box in boxes.values()), *(top + at for at in places.middle.values())]
    )
    pad = _PAD if bands else 0.0
    return Sheet(columns[-1].right, bottom + pad, boxes, tuple(lines.pieces), tuple(lines.labels), bands)


def _columns(picture: Picture, layers: Layers, places: Places) -> list[Column]:
    figures = {figure.name: figure for figure in picture.figures}
    ends = {max(_layers_of(layers, stage.figures)) for stage in picture.stages}
    starts = {min(_layers_of(layers, stage.figures)) for stage in picture.stages}
    found: list[Column] = []
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
        labels = [width(few(flow.columns), LABEL_SIZE) + 14 for flow in leaving]
        leaves = right + max([14.0, *labels])
        found.append(Column(at, left, right, leaves))
        at = leaves + (_PAD if number_ in ends else 0.0)
    return found


def _layers_of(layers: Layers, names: Iterable[str]) -> list[int]:
    wanted = set(names)
    return [cell.layer for cells in layers.cells for cell in cells if cell.figure in wanted]


def _condition_width(figure: Figure) -> float:
    return width(condition_of(figure), LABEL_SIZE) + HEAD + 8 if figure.condition else 0.0


def _steepest(layers: Layers, places: Places, layer: int) -> float:
    """Returns how far down or up the longest curve to a layer goes."""
    return max(
        (
            abs(places.middle[link.start] - places.middle[link.end])
            for link in layers.links
            if link.end.layer == layer
        ),
        default=0.0,
    )


def _bands(picture: Picture, layers: Layers, columns: Sequence[Column]) -> Iterable[Band]:
    for stage in picture.stages:
        found = _layers_of(layers, stage.figures)
        left, right = columns[min(found)].enters - _PAD, columns[max(found)].leaves + _PAD / 2
        room = right - left - 24
        title = fitting(f"stage {stage.name}", LABEL_SIZE * 1.08, room)
        yield Band(
            stage.name, stage.reason, left, right, (title, *wrapped(stage.reason, LABEL_SIZE, room, 3))
        )
