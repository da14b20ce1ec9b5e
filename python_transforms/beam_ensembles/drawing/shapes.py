"""The outlines of a picture's figures: each kind of node has its own, the same in SVG as in Mermaid."""

from __future__ import annotations

import math
from collections.abc import Sequence

from beam_ensembles.drawing.picture import ROW, Figure
from beam_ensembles.drawing.words import cut, width

TITLE_SIZE = 13.0
LINE_SIZE = 11.0
TITLE_HEIGHT = 18.0
LINE_HEIGHT = 15.0
LONGEST_LINE = 44

_SIDE = {"model": 12.0, "combine": 22.0, "apply": 18.0, ROW: 20.0}
_SLANT = 12.0
"""How far the corners of a slanted side are apart, where the figure is high enough."""
_ROUND = 22.0


def size_of(figure: Figure) -> tuple[float, float]:
    """Returns the least width and height of a figure, in which its texts have room."""
    lines = [width(cut(line, LONGEST_LINE), LINE_SIZE) for line in figure.lines]
    across = max([width(cut(figure.title, LONGEST_LINE), TITLE_SIZE, bold=True), *lines])
    down = TITLE_HEIGHT + LINE_HEIGHT * len(figure.lines)
    if figure.shape == "route":  # a rectangle of half its width and height has room in a diamond
        return across * 1.55 + 20, down * 2.6
    return max(across + 2 * _SIDE[figure.shape], 84.0), down + 18


def outline(shape: str, x: float, y: float, wide: float, high: float) -> str:
    """Returns a figure's outline as the data of an SVG path; ``x`` and ``y`` are its upper left corner."""
    if shape in ("model", "apply"):
        return _rounded(x, y, wide, high, 4.0 if shape == "model" else min(high / 2, _ROUND))
    middle, right, bottom = y + high / 2, x + wide, y + high
    slant = min(_SLANT, high / 2)
    corners: dict[str, Sequence[tuple[float, float]]] = {
        "combine": (
            (x, middle), (x + slant, y), (right - slant, y), (right, middle), (right - slant, bottom),
            (x + slant, bottom),
        ),
        "route": ((x, middle), (x + wide / 2, y), (right, middle), (x + wide / 2, bottom)),
        ROW: ((x + slant, y), (right, y), (right - slant, bottom), (x, bottom)),
    }  # fmt: skip
    return "M" + " L".join(f"{number(a)} {number(b)}" for a, b in corners[shape]) + " Z"


def _rounded(x: float, y: float, wide: float, high: float, radius: float) -> str:
    r, across, down = number(radius), number(wide - 2 * radius), number(high - 2 * radius)
    corner = f"a{r} {r} 0 0 1"
    return (
        f"M{number(x + radius)} {number(y)} h{across} {corner} {r} {r} v{down} {corner} -{r} {r} "
        f"h-{across} {corner} -{r} -{r} v-{down} {corner} {r} -{r} Z"
    )


def inset(shape: str, wide: float, high: float, below: float, *, right: bool) -> float:
    """Returns how far inside its box a figure's left or right edge is, so much below its middle."""
    share = min(1.0, abs(below) / (high / 2))
    if shape == "combine":
        return _SLANT * share
    if shape == "route":
        return wide / 2 * share
    if shape == ROW:
        return _SLANT * (0.5 + below / high) if right else _SLANT * (0.5 - below / high)
    if shape == "apply":
        radius = min(high / 2, _ROUND)
        into = max(0.0, abs(below) - (high / 2 - radius))
        return radius - math.sqrt(max(0.0, radius**2 - into**2))
    return 0.0


def number(value: float) -> str:
    """Returns a coordinate as text, with one digit after the point at most."""
    text = f"{value:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in ("-0.0", "0.0") else text.removesuffix(".0")
