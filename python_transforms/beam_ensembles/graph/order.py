"""The order in which nodes run, and the cycles that leave none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter


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
    cycles = [_from_first(cycle, rank) for cycle in _cycles(names, predecessors)]
    lost = {name for cycle in cycles for name in cycle}
    sorter = TopologicalSorter(
        {name: [p for p in predecessors[name] if p not in lost] for name in names if name not in lost}
    )
    sorter.prepare()
    return _drain(sorter, rank), cycles


def _cycles(names: Sequence[str], predecessors: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Finds cycles until none is left without them; in time that grows with the edges."""
    stuck = _Stuck(names, predecessors)
    walk: list[str] = []
    place: dict[str, int] = {}
    for name in names:
        while name in stuck.left:
            if not walk:
                walk.append(name)
                place[name] = 0
            before = stuck.before(walk[-1])
            if before not in place:
                place[before] = len(walk)
                walk.append(before)
                continue
            cycle = walk[place[before] :]
            yield cycle[::-1]
            stuck.take_out(cycle)
            while walk and walk[-1] not in stuck.left:
                del place[walk.pop()]


class _Stuck:
    """The nodes that wait for one that waits itself: those of cycles, and all that come after them."""

    def __init__(self, names: Sequence[str], predecessors: Mapping[str, Sequence[str]]) -> None:
        self._waits = {name: len(set(predecessors[name])) for name in names}
        self._before = {name: iter(predecessors[name]) for name in names}
        self._next: dict[str, str] = {}
        self._after: dict[str, list[str]] = {name: [] for name in names}
        for name in names:
            for before in dict.fromkeys(predecessors[name]):
                self._after[before].append(name)
        self.left = dict.fromkeys(names)
        self.take_out([name for name in names if not self._waits[name]])

    def before(self, name: str) -> str:
        """Returns the first node that a stuck one waits for."""
        while self._next.get(name, "") not in self.left:
            self._next[name] = next(self._before[name])
        return self._next[name]

    def take_out(self, names: Sequence[str]) -> None:
        """Takes nodes out, and then those that wait for nothing any more."""
        out = list(names)
        for name in out:
            self.left.pop(name, None)
        while out:
            for name in self._after[out.pop()]:
                self._waits[name] -= 1
                if not self._waits[name] and name in self.left:
                    del self.left[name]
                    out.append(name)


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
