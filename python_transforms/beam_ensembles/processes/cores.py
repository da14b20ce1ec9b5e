"""The cores of this process, and what runs at one time on those that nothing uses.

Nodes of a batch that do not need each other run so, and so do batches (``graph/planning``): models leave cores idle.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final, TypeVar

from beam_ensembles.beam_repairs.thread_counters import as_here
from beam_ensembles.processes.child_process import own_cores

S = TypeVar("S")
T = TypeVar("T")

WORTH_NANOSECONDS: Final = 1_000_000
"""A call that takes less is not worth another thread, which costs a tenth of that."""

_MOST_WAITING: Final = 64
"""Nodes that wait for other machines at one time; further ones wait for those."""
_HAS_CORE: Final = contextvars.ContextVar("has_core", default=False)
"""Whether what runs here is counted already as what uses a core."""


class Cores:
    """The cores of this process that nothing uses.

    Args:
        count: How many it has.
    """

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self.count = self._spare = count
        # A batch waits for its nodes: if they shared their threads, all of these could wait for some that never come.
        self._for_nodes, self._for_batches = (ThreadPoolExecutor(count, name) for name in ("node", "batch"))
        self._for_waiting = ThreadPoolExecutor(_MOST_WAITING, "waiting")

    @classmethod
    def of_this_process(cls) -> Cores:
        """Returns those that the environment or else the operating system gives this process."""
        has_affinity = hasattr(os, "sched_getaffinity")
        return cls(own_cores() or (len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1))

    @property
    def has_spare(self) -> bool:
        """Whether a task could start now."""
        return self._spare > 0

    @contextlib.contextmanager
    def one_used(self) -> Iterator[None]:
        """Notes that this thread uses a core within the block, whether or not one is to spare."""
        if self.is_one_used():
            yield
            return
        self._change(-1)
        token = _HAS_CORE.set(True)
        try:
            yield
        finally:
            _HAS_CORE.reset(token)
            self._change(1)

    @staticmethod
    def is_one_used() -> bool:
        """Whether what runs here is counted as what uses a core: within ``one_used``, and what ``each`` runs."""
        return _HAS_CORE.get()

    def start(self, task: Callable[[], T]) -> Future[T]:
        """Starts a node on a core of its own. It logs and counts as this thread does, which is to wait for it."""
        return self._start(task, self._for_nodes)

    def start_waiting(self, task: Callable[[], T]) -> Future[T]:
        """Starts a node that waits for another machine, which takes no core; else as ``start``."""
        return self._for_waiting.submit(as_here(task))

    def each(self, task: Callable[[S], T], values: Sequence[S]) -> list[T]:
        """Runs a task on each of some values, in this thread and on the cores that nothing uses.

        Args:
            task: It may start nodes itself.
            values: In their order they are begun.

        Returns:
            What the task gave, in the order of the values.

        Raises:
            Exception: What the task raised first; what had begun has ended then, and nothing more begins.
        """
        places, found = iter(range(len(values))), dict[int, T]()

        def work() -> None:
            for at in places:  # each place is given once, to whichever thread comes next
                try:
                    found[at] = task(values[at])
                except BaseException:
                    for _ in places:
                        pass
                    raise

        with self.one_used():
            helpers: list[Future[None]] = []
            while self.has_spare and len(helpers) + 1 < len(values):
                helpers.append(self._start(work, self._for_batches))
            try:
                work()
            finally:
                wait(helpers)
        for helper in helpers:
            helper.result()
        return [found[at] for at in range(len(values))]

    def _start(self, task: Callable[[], T], threads: ThreadPoolExecutor) -> Future[T]:
        def run() -> T:
            try:
                return task()
            finally:
                self._change(1)

        self._change(-1)
        return threads.submit(as_here(run))

    def _change(self, by: int) -> None:
        with self._lock:
            self._spare += by
