"""The column of known answers: what its values are, and how they are compared with what nodes answer."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import EnsembleError, listed, nearest

TEXT: Final = "texts"
WHOLE: Final = "whole numbers"
TRUTH: Final = "booleans"
NUMBER: Final = "numbers"
LIST: Final = "lists"

MOST_CLASSES: Final = 1_000
_TRUTHS: Final = {"true": True, "false": False}
_SHOWN: Final = 12


def kinds_of(values: Sequence[Any], *, are_cells: bool) -> list[str]:
    """Returns what the values of a label column can be taken for, the narrowest kind first.

    Args:
        values: Some of them, without nulls.
        are_cells: Whether they are the cells of a CSV file, which are all texts.
    """
    order = (TRUTH, WHOLE, NUMBER, LIST, TEXT) if are_cells else (TRUTH, WHOLE, NUMBER, TEXT, LIST)
    return [kind for kind in order if all(_fits(value, kind, are_cells) for value in values)]


def _fits(value: Any, kind: str, is_cell: bool) -> bool:
    try:
        as_kind(value, kind, is_cell=is_cell)
    except ValueError:
        return False
    return True


def as_kind(value: Any, kind: str, *, is_cell: bool) -> Any:
    """Returns a value as one of a kind: a whole number for a boolean, a number for the text of a cell.

    Raises:
        ValueError: It is none.
    """
    if is_cell and isinstance(value, str):
        return _read_cell(value, kind)
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if kind == TRUTH and isinstance(value, bool):
        return value
    if kind == WHOLE and is_whole:
        return int(value)
    if kind == NUMBER and isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # no float is that large
            return _finite(float(value))
    if kind == TEXT and isinstance(value, str):
        return value
    if kind == LIST and isinstance(value, list | tuple | str | int) and not isinstance(value, bool):
        return list(value) if isinstance(value, list | tuple) else value  # one candidate is a list of one
    raise ValueError(value)


def _read_cell(cell: str, kind: str) -> Any:
    if kind == TEXT:
        return cell
    if kind == TRUTH:
        if cell.lower() in _TRUTHS:
            return _TRUTHS[cell.lower()]
        raise ValueError(cell)
    if kind == LIST:
        return as_kind(_read_list(cell) if cell.startswith("[") else cell, LIST, is_cell=False)
    return int(cell) if kind == WHOLE else _finite(float(cell))


def _finite(value: float) -> float:
    """Returns a number that an answer can be compared with: from an infinite one each is as far."""
    if math.isinf(value):
        raise ValueError(value)
    return value


def _read_list(cell: str) -> Any:
    try:
        return json.loads(cell)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def described(value: Any) -> str:
    """Returns a value for a message."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):  # Python writes no whole number of over 4,300 digits
        return f"a {type(value).__name__} that is too large to be shown"
    return text if len(text) < 60 else f"{text[:60]}…"


def listed_classes(classes: Sequence[Any]) -> str:
    """Returns classes for a message, the first of many."""
    return listed([str(one) for one in classes[:_SHOWN]], total=len(classes))


class ClassCodes:
    """Numbers of classes, from 0 in the order in which they come.

    Args:
        kind: What classes are: ``TEXT``, ``WHOLE`` or ``TRUTH``.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._codes: dict[Any, int] = {}

    @property
    def classes(self) -> list[Any]:
        """The classes in the order of their numbers."""
        return list(self._codes)

    def code(self, value: Any) -> int:
        """Returns the number of a class, a new one for one that is new.

        Raises:
            EnsembleError: There are too many.
        """
        found = self._codes.setdefault(value, len(self._codes))
        if found >= MOST_CLASSES:
            text = f"the label and the answers have more than {MOST_CLASSES:,} different values; are they numbers"
            raise EnsembleError(f"{text} ('--task numbers')?")
        return found

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        """Returns the numbers of classes as nodes answer them, ``[N]``; -1 where a value is of another kind."""
        made = np.empty(len(values), np.int32)
        known: dict[Any, int] = {}
        for at, value in enumerate(values):
            number = known.get(value)
            if number is None:
                try:
                    number = self.code(as_kind(value, self.kind, is_cell=False))
                except ValueError:
                    number = -1
                known[value] = number
            made[at] = number
        return made


def positive_class(classes: Sequence[Any], kind: str, asked: str | None) -> Any:
    """Returns the class that counts as positive: the one that was asked for, else the greater of two.

    Raises:
        EnsembleError: There is no such class.
    """
    if asked is None:
        return max(classes)
    try:
        found = as_kind(asked, kind, is_cell=True)
    except ValueError:
        found = asked
    if found not in classes:
        near = nearest(asked, [str(one) for one in classes])
        raise EnsembleError(f"--positive is '{asked}', but the classes are {listed_classes(classes)}{near}")
    return found
