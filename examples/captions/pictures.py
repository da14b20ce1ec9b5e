"""Draws pictures of single shapes, and knows what can be said of them."""

from __future__ import annotations

import itertools
from typing import Final, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

SIDE: Final = 32
"""Height and width of a picture, in pixels."""

SIZES: Final = {"small": 12, "large": 22}
"""How long the sides of a shape are, in pixels."""
COLOURS: Final = {
    "red": (220, 40, 40),
    "green": (40, 200, 60),
    "blue": (50, 80, 230),
    "yellow": (230, 210, 50),
}
SHAPES: Final = ("ring", "square", "triangle")

SENTENCES: Final = (
    "a picture of a {kind} on a dark background",
    "there is a {kind} in front of a dark wall",
    "this picture shows a {kind} and nothing else",
    "somebody drew a {kind} on a sheet of black paper",
)
QUESTIONS: Final = {
    "what size is the shape ?": "size",
    "what colour is the shape ?": "colour",
    "what kind is the shape ?": "shape",
}
"""A question, and the name of what it asks for."""


class Kind(NamedTuple):
    """What a picture shows."""

    size: str
    colour: str
    shape: str

    def __str__(self) -> str:
        return " ".join(self)


KINDS: Final = tuple(itertools.starmap(Kind, itertools.product(SIZES, COLOURS, SHAPES)))


def sentence(kind: Kind, number: int) -> str:
    """Returns one of the sentences about a picture; there are as many as ``SENTENCES``, then they come again."""
    return SENTENCES[number % len(SENTENCES)].format(kind=kind)


def answer(kind: Kind, question: str) -> str:
    """Returns the answer to a question about a picture."""
    found: str = getattr(kind, QUESTIONS[question])
    return found


def draw(kind: Kind, chance: np.random.Generator) -> Image.Image:
    """Draws a picture: the shape near its middle, in a shade of its colour, on a background that is not quite black."""
    picture = Image.fromarray(chance.integers(0, 60, (SIDE, SIDE, 3), dtype=np.uint8))
    length = round(SIZES[kind.size] * chance.uniform(0.9, 1.1))
    left, top = (int(place) for place in (SIDE - length) // 2 + chance.integers(-3, 4, 2))
    right, bottom = left + length, top + length
    shade = tuple(int(part) for part in np.clip(COLOURS[kind.colour] + chance.integers(-25, 26, 3), 0, 255))
    pen = ImageDraw.Draw(picture)
    if kind.shape == "ring":
        pen.ellipse((left, top, right, bottom), outline=shade, width=length // 5)
    elif kind.shape == "square":
        pen.rectangle((left, top, right, bottom), fill=shade)
    else:
        pen.polygon([(left, bottom), (right, bottom), ((left + right) // 2, top)], fill=shade)
    return picture
