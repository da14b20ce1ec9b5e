"""Places in an ensemble file: how they are written, and in which order they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from beam_ensembles.errors import WHOLE_FILE, Problem

_PLAIN_KEY = re.compile(r"[^\s.\[\]\"]+")
_ODD_SPACE = re.compile(r"^ | $|(?<=[ :]) ")
"""A space that a reader would not see, at an end of a key or behind another one, or that looks like a place's end."""
_LAST_STEP = re.compile(r"(\.[^.\[\]\"]+|\[\d+\]|\[\"[^\"]*\"\])$")


def below(path: str, key: str | int) -> str:
    """Returns the place of a key or a list's item below a place: ``nodes.vote`` and 1 to ``nodes.vote[1]``.

    A key that would make a place hard to read (spaces, dots, brackets) is put in brackets and quotes. A place
    holds no white space but single spaces within such a key, and never ``": "``, with which a line ends it.
    """
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key) or not key.isprintable():
        quoted = _ODD_SPACE.sub(r"\\u0020", json.dumps(key)[1:-1]).replace(r"\"", r"\u0022")
        return f'{"" if path == WHOLE_FILE else path}["{quoted}"]'
    return key if path == WHOLE_FILE else f"{path}.{key}"


def above(path: str) -> str:
    """Returns the place that holds this one: ``nodes.vote`` for ``nodes.vote[1]``, ``$`` for a top key."""
    shorter = _LAST_STEP.sub("", path)
    return shorter if shorter and shorter != path else WHOLE_FILE


def around(path: str) -> Iterator[str]:
    """Returns a place and all places that contain it, except the whole file."""
    while path != WHOLE_FILE:
        yield path
        path = above(path)


def in_order(problems: Iterable[Problem], places: Iterable[str]) -> list[Problem]:
    """Sorts problems by their places in the file, each once; those of the whole file come first.

    Args:
        problems: The problems found, in any order.
        places: All places of the file in the order in which they are written.
    """
    order = {WHOLE_FILE: -1} | {place: index for index, place in enumerate(places)}

    def rank(problem: Problem) -> int:
        place = problem.path
        while place not in order:
            place = above(place)
        return order[place]

    return sorted(dict.fromkeys(problems), key=rank)
