"""What the shapes and lines of a picture stand for."""

from __future__ import annotations

from typing import Final

from beam_ensembles.drawing.picture import COMPARISON, CONDITION, ROW, Picture
from beam_ensembles.drawing.shapes import number, outline
from beam_ensembles.drawing.style import COLOURS, DASHES, FAINT, LINES, text_of
from beam_ensembles.drawing.words import width

_KINDS: Final = {
    ROW: "the row",
    "model": "model",
    "combine": "combines predictions",
    "route": "picks an arm",
    "apply": "computes columns",
}


class Legend:
    """What the shapes and lines that the picture has stand for."""

    def __init__(self, picture: Picture, room: float) -> None:
        used = {figure.shape for figure in picture.figures}
        samples = [(text, _sample(shape)) for shape, text in _KINDS.items() if shape in used]
        roles = {role for flow in picture.flows for _, role in flow.readers}
        if CONDITION in roles:
            samples.append(("decides whether a node runs", _stroke(CONDITION)))
        if COMPARISON in roles:
            samples.append(("runs in the shadow of, is compared with", _stroke(COMPARISON)))
        self.items: list[str] = []
        x, y = 0.0, 0.0
        for text, sample in samples:
            wide = 34 + width(text, 11) + 22
            if x and x + wide > room:
                x, y = 0.0, y + 20
            self.items.append(
                f'<g transform="translate({number(x)} {number(y)})">{sample}<text class="faint" x="34" y="11" '
                f'fill="{FAINT}" font-size="11">{text_of(text)}</text></g>'
            )
            x += wide
        self.height = y + 16


def _sample(shape: str) -> str:
    fill, stroke = COLOURS[shape]
    high = 14.0
    return f'<path class="{shape}" d="{outline(shape, 0, 0, 28, high)}" fill="{fill}" stroke="{stroke}"/>'


def _stroke(role: str) -> str:
    return (
        f'<path class="{role}" d="M0 7 h28" fill="none" stroke="{LINES[role]}" stroke-width="1.4" '
        f'stroke-dasharray="{DASHES[role]}"/>'
    )
