"""Meanings that a loaded member knows, however many others are put around it."""

from __future__ import annotations

import dataclasses
from typing import Any

from beam_ensembles.graph.class_meanings import LABELS, Meaning, meanings_of


@dataclasses.dataclass
class Knows:
    meanings: dict[str, Meaning]


@dataclasses.dataclass
class Around:
    member: Any


def test_what_a_member_knows_is_known_of_those_around_it() -> None:
    known = {"kind": Meaning(LABELS, ("a", "b"))}
    assert meanings_of(Around(Around(Knows(known)))) == known


def test_a_member_that_knows_nothing() -> None:
    assert meanings_of(Around(object())) == {}
