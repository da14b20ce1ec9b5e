"""Record batches of a bundle that are scored at one time: more than one core works for a bundle.

A call of a small model keeps one core busy. Runners give a worker few bundles at one time, Prism one; so a stage whose
models leave cores idle takes some batches of a bundle together, and scores each on a core that nothing else uses.
Whether that is faster depends on the share that Python's lock has in it: it is tried out. On two cores the benchmark's
*light* in Arrow is 1.3 times as fast with it as without; two processes of a stage add nothing to that.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import apache_beam as beam
from apache_beam.utils.windowed_value import WindowedValue, create

from beam_ensembles.columns.arrow_batch import Element, size_of_element
from beam_ensembles.processes.cores import WORTH_NANOSECONDS, Cores
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.arrow_source import ArrowResult
from beam_ensembles.runtime.timed_choice import Trials

BATCHES_A_CORE: Final = 2
"""More of them leave cores less time idle at the end of a group, and make rows wait longer for it."""

BYTES: Final = 32 << 20
"""A group that has them is complete."""


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Batches of the same windows, or what became of them.

    Attributes:
        items: The batches, or their results.
        micros: Event time of each, microseconds since the epoch.
        windows: The windows that all of them are in.
    """

    items: Sequence[Any]
    micros: Sequence[int]
    windows: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.items)

    def size(self) -> int:
        """Returns the size of all items in bytes."""
        return sum(map(_size, self.items))


class GroupBatches(beam.DoFn):
    """Puts batches of a bundle into groups.

    Args:
        cores: For how many cores; None: for those that the worker has.
    """

    def __init__(self, cores: int | None = None) -> None:
        self._cores = cores

    def setup(self) -> None:
        cores = self._cores or this_machine().cores.count
        self._count = cores * BATCHES_A_CORE if cores > 1 else 1

    def start_bundle(self) -> None:
        self._waiting: dict[tuple[Any, ...], _Waiting] = {}

    def process(self, element: Element, value: Any = beam.DoFn.WindowedValueParam) -> Iterable[WindowedValue]:
        windows = tuple(value.windows)
        waiting = self._waiting.setdefault(windows, _Waiting())
        waiting.items.append(element)
        waiting.micros.append(value.timestamp_micros)
        waiting.bytes += size_of_element(element)
        if len(waiting.items) < self._count and waiting.bytes < BYTES:
            return ()
        return [self._waiting.pop(windows).group(windows)]

    def finish_bundle(self) -> Iterator[WindowedValue]:
        for windows, waiting in self._waiting.items():
            yield waiting.group(windows)
        self._waiting = {}


@dataclasses.dataclass(slots=True)
class _Waiting:
    items: list[Element] = dataclasses.field(default_factory=list)
    micros: list[int] = dataclasses.field(default_factory=list)
    bytes: int = 0

    def group(self, windows: tuple[Any, ...]) -> Any:
        """Returns the group, whose time is that of its oldest batch: a shuffle further on holds the watermark there."""
        return create(Group(self.items, self.micros, windows), min(self.micros), windows)


def items_of(group: Group) -> Iterator[WindowedValue]:
    """Returns what became of the batches of a group, each with its time."""
    return map(create, group.items, group.micros, itertools.repeat(group.windows))


class GroupScoring:
    """Scores the batches of groups, at one time where that is faster than one after another. For one thread."""

    def __init__(self) -> None:
        self._trials = Trials()

    def each(self, score: Callable[[Element], ArrowResult], group: Group, cores: Cores) -> Group:
        """Scores the batches of a group.

        Args:
            score: Scores one.
            group: Batches.
            cores: Those of this process.

        Returns:
            Their results, in the same order.

        Raises:
            Exception: What ``score`` raised first.
        """
        can_both = len(group) > 1 and cores.has_spare
        start = time.perf_counter_ns()
        if can_both and self._trials.takes_other:
            found = cores.each(score, group.items)
        else:
            found = [score(item) for item in group.items]
        took = time.perf_counter_ns() - start
        if can_both and took > WORTH_NANOSECONDS * len(group):
            self._trials.took(took / max(group.size(), 1))
        return Group(found, group.micros, group.windows)


def _size(item: Element | ArrowResult) -> int:
    return item.size() if isinstance(item, ArrowResult) else size_of_element(item)
