"""A combiner that goes by position compares the order of its members' classes."""

from __future__ import annotations

from typing import Final

import pytest

from beam_ensembles.combiners.registry import COMBINE_KINDS
from beam_ensembles.graph.kinds import Kind
from beam_ensembles.registry import KINDS

JOINS: Final = ("stack", "rank")
"""Combiners that do not mix scores by position: one joins its members, one orders candidates by one number each."""


@pytest.mark.parametrize("name", [name for name in COMBINE_KINDS if name not in JOINS])
def test_it_says_what_its_outputs_mean(name: str) -> None:
    text = f"'{name}' has no 'meanings', so it may mix scores of different classes; see Kind.meanings"
    assert type(KINDS["combine", name]).meanings is not Kind.meanings, text
