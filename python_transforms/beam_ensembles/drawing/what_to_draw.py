"""The parts of a picture in their places: boxes, pieces of lines, labels, stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from beam_ensembles.drawing.picture import Figure
from beam_ensembles.drawing.words import cut

LABEL_SIZE: Final = 11.0
"""The size of the font of labels on lines."""

HEAD: Final = 9.0
"""The length of an arrow's head."""

_LONGEST_CONDITION: Final = 42


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
class Column:
    """What a layer takes from left to right: lines enter, figures, names of columns end."""

    enters: float
    left: float
    right: float
    leaves: float


def condition_of(figure: Figure) -> str:
    """Returns what stands on the line that a condition reads."""
    return f"when {cut(figure.condition, _LONGEST_CONDITION)}" if figure.condition else ""
