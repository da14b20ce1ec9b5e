"""The lines of a picture: how each flow leaves its figure, goes through layers, and enters those that read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from beam_ensembles.drawing.coordinates import Places
from beam_ensembles.drawing.layers import Cell, Layers
from beam_ensembles.drawing.picture import COMPARISON, CONDITION, DATA, Figure, Picture
from beam_ensembles.drawing.shapes import inset, number
from beam_ensembles.drawing.what_to_draw import HEAD, Box, Column, Label, Piece, condition_of
from beam_ensembles.drawing.words import few


class Lines:
    """The pieces and labels of all flows."""

    def __init__(
        self,
        picture: Picture,
        layers: Layers,
        places: Places,
        columns: Sequence[Column],
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
        """Returns the role of what all readers share."""
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
        path = f"{_curve(x, y, bend, to_x, to_y)} H{number(tip - (HEAD - 2 if has_head else 0))}"
        self.pieces.append(Piece(path, role, (tip, to_y) if has_head else None, self._dashed(flow)))
        if role == CONDITION:
            self._judge(figure, box, to_y)

    def _judge(self, figure: Figure, box: Box, y: float) -> None:
        """Writes a condition on the first of the lines that it reads."""
        label = Label(condition_of(figure), f"when {figure.condition}", box.x - HEAD - 2, y, True)
        known = self._judged.get(figure.name)
        if known is None or y < known.y:
            self._judged[figure.name] = label

    def _role(self, flow: int, figure: str) -> str:
        roles = {role for name, role in self._picture.flows[flow].readers if name == figure}
        return next(role for role in (CONDITION, DATA, COMPARISON) if role in roles)


def _curve(x: float, y: float, bend: float, to_x: float, to_y: float) -> str:
    middle, start, end = number(bend), f"{number(x)} {number(y)}", f"{number(to_x)} {number(to_y)}"
    return f"M{start} C{middle} {number(y)} {middle} {number(to_y)} {end}"
