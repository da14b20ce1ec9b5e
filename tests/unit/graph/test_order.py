"""The order of nodes, and cycles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.graph.order import topological

NAMES = list("abcdef")
EDGES = st.fixed_dictionaries({name: st.lists(st.sampled_from(NAMES), unique=True) for name in NAMES})


@pytest.mark.parametrize(
    ("predecessors", "order", "cycles"),
    [
        ({"a": [], "b": [], "c": []}, ["a", "b", "c"], []),
        ({"a": ["c"], "b": [], "c": []}, ["b", "c", "a"], []),
        ({"a": ["a"], "b": []}, ["b"], [["a"]]),
        ({"a": ["c"], "b": ["a"], "c": ["b"]}, [], [["a", "b", "c"]]),
        ({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"], "e": ["a"]}, ["e"], [["a", "b"], ["c", "d"]]),
    ],
)
def test_order(predecessors: dict[str, list[str]], order: list[str], cycles: list[list[str]]) -> None:
    assert topological(list(predecessors), predecessors) == (order, cycles)


@given(EDGES)
def test_every_node_is_in_the_order_or_in_one_cycle(predecessors: dict[str, list[str]]) -> None:
    order, cycles = topological(NAMES, predecessors)
    assert sorted([*order, *(name for cycle in cycles for name in cycle)]) == NAMES
    for index, name in enumerate(order):
        assert not set(predecessors[name]) & set(order[index:])
    for cycle in cycles:
        assert cycle[0] == min(cycle)
        for name, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            assert name in predecessors[after]
