"""One answer of several to the same messages: each output is what most of them say (self-consistency)."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any

from beam_ensembles.types import BOOLEAN, INTEGERS, STRING, Scalar, Type


def can_be_voted(type_: Type) -> bool:
    """Whether equal values of a type can be counted: texts, booleans and whole numbers."""
    type_ = type_.required()
    return type_ in (STRING, BOOLEAN) or (isinstance(type_, Scalar) and type_.name in INTEGERS)


def most_voted(values: Sequence[Any], order: Sequence[str] | None) -> Any:
    """Returns the value that is there most often.

    Among equals the first wins, as in ``hard_vote``: the first of ``order``, or else the lowest; null comes last.

    Args:
        values: The value of each answer; null is a value, too.
        order: All values that there can be, where they are known.
    """
    counts = collections.Counter(values)
    most = max(counts.values())
    equals = [value for value, votes in counts.items() if votes == most and value is not None]
    return min(equals, key=None if order is None else order.index, default=None)


def shares(values: Sequence[Any], labels: Sequence[str]) -> list[float] | None:
    """Returns the share of the answers that each label has; None where all are null."""
    counts = collections.Counter(value for value in values if value is not None)
    return [counts[label] / counts.total() for label in labels] if counts else None


def elected(answers: Sequence[Mapping[str, Any]], choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Returns the most voted value of each output of some answers."""
    return {name: most_voted([answer[name] for answer in answers], choices.get(name)) for name in answers[0]}
