"""How places are written, and that problems stand in the order of the file."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import Problem
from beam_ensembles.spec.places import above, below, in_order


@pytest.mark.parametrize(
    ("place", "key", "expected"),
    [
        ("$", "nodes", "nodes"),
        ("nodes", "vote", "nodes.vote"),
        ("nodes.vote.inputs", 1, "nodes.vote.inputs[1]"),
        ("nodes.vote.inputs", "INPUT__0", "nodes.vote.inputs.INPUT__0"),
        ("nodes", "größe", "nodes.größe"),
        ("nodes", "a.b", 'nodes["a.b"]'),
        ("nodes", "a b", 'nodes["a b"]'),
        ("nodes", " a  b ", r'nodes["\u0020a \u0020b\u0020"]'),
        ("nodes", "a: b", r'nodes["a:\u0020b"]'),
        ("nodes", "a\u00a0b\tc", r'nodes["a\u00a0b\tc"]'),
        ("$", "", '[""]'),
        ("nodes", 'say "no"', r'nodes["say \u0022no\u0022"]'),
    ],
)
def test_places(place: str, key: str | int, expected: str) -> None:
    assert below(place, key) == expected
    assert above(expected) == place


@given(st.lists(st.text() | st.integers(0, 99), min_size=1, max_size=4))
def test_a_place_fits_into_the_line_that_clients_read(keys: list[str | int]) -> None:
    place = "$"
    for key in keys:
        place = below(place, key)
    line = str(Problem(place, "some_code", "some message"))
    found = re.fullmatch(r"\s*\[([a-z0-9_]+)\] (\S.*?): (.*)", line)
    assert found
    assert found.groups() == ("some_code", place, "some message")


@given(st.text(), st.text())
def test_keys_stay_apart(one: str, other: str) -> None:
    assert (below("nodes", one) == below("nodes", other)) == (one == other)


def test_problems_stand_in_the_order_of_the_file() -> None:
    places = ["$", "nodes", "nodes.b", "nodes.b.uri", "nodes.a", "inputs"]
    found = in_order(
        [
            Problem("inputs.x", "d", ""),
            Problem("nodes.a.missing[3]", "c", ""),
            Problem("nodes.b.uri", "b", ""),
            Problem("nodes.b.uri", "b", ""),
            Problem("$", "a", ""),
        ],
        places,
    )
    assert [problem.code for problem in found] == ["a", "b", "c", "d"]
