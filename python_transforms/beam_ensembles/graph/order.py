"""The order in which nodes run, and the cycles that leave none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter


def topological(
    names: Sequence[str], predecessors: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Orders nodes so that each comes after those that it reads from.

    Args:
        names: The nodes in the order of the file, which is kept where there is a choice.
        predecessors: The nodes that each one reads from.

    Returns:
        The order of all nodes that are in no cycle, and the cycles: each begins with its first node of the
        file and each node feeds the next one, the last one feeds the first.
    """
    rank = {name: index for index, name in enumerate(names)}
    left = list(names)
    cycles: list[list[str]] = []
    while True:
        sorter = TopologicalSorter({name: [p for p in predecessors[name] if p in left] for name in left})
        try:
            sorter.prepare()
        except CycleError as exc:
            cycles.append(_from_first(exc.args[1][:-1], rank))
            left = [name for name in left if name not in cycles[-1]]
            continue
        return _drain(sorter, rank), cycles


def _from_first(cycle: Sequence[str], rank: Mapping[str, int]) -> list[str]:
    start = cycle.index(min(cycle, key=rank.__getitem__))
    return [*cycle[start:], *cycle[:start]]


def _drain(sorter: TopologicalSorter[str], rank: Mapping[str, int]) -> list[str]:
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=rank.__getitem__)
        order.extend(ready)
        sorter.done(*ready)
    return order
