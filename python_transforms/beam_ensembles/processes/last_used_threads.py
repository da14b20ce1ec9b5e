"""Threads for tasks that are waited for, as few as there are tasks at one time.

PyTorch runs in them. Its OpenMP (libgomp) keeps a team of threads for every thread that ever called it. As soon as all
teams together have more threads than there are cores, they wait for each other asleep, not spinning, also if just one
team has work: a small network takes half as long again. Beam's worker gives the next bundle to the thread that was idle
longest, of up to 17, so that teams would be made until that is so. Here calls go to the thread that was idle shortest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from beam_ensembles.beam_repairs.thread_counters import as_here

T = TypeVar("T")

_IDLE_SECONDS: Final = 10.0
"""How long a thread that is not needed any more is kept for the next calls at one time."""


class LastUsed:
    """Threads for tasks that are waited for: a task gets the one that was idle shortest, or a new one.

    Args:
        idle_seconds: How long a thread is kept that nothing needs.
    """

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._idle: list[tuple[_Thread, float]] = []  # with the time since when, the longest first
        self._here = threading.local()

    def run(self, task: Callable[[], T]) -> T:
        """Runs a task in one of the threads, as if it were this one; in this one, if it is one of them.

        Raises:
            Exception: What the task raised.
        """
        if getattr(self._here, "is_one", False):
            return task()
        with self._lock:
            thread = self._idle.pop()[0] if self._idle else _Thread(self._enter)
        try:
            return thread.run(as_here(task))
        finally:
            self._give_back(thread)

    def _enter(self) -> None:
        self._here.is_one = True

    def _give_back(self, thread: _Thread) -> None:
        now = time.monotonic()
        with self._lock:
            while self._idle and now - self._idle[0][1] > self._idle_seconds:
                self._idle.pop(0)[0].end()
            self._idle.append((thread, now))


class _Thread:
    """A thread that runs one task after another. It keeps no process alive.

    Args:
        enter: Called in it before the first task.
    """

    def __init__(self, enter: Callable[[], None]) -> None:
        self._enter = enter
        self._tasks: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="pytorch").start()

    def run(self, task: Callable[[], T]) -> T:
        answer: Future[T] = Future()
        self._tasks.put((task, answer))
        try:
            return answer.result()
        finally:
            del answer  # an error's traceback has this frame

    def end(self) -> None:
        self._tasks.put(None)

    def _work(self) -> None:
        self._enter()
        while (given := self._tasks.get()) is not None:
            task, answer = given
            try:
                answer.set_result(task())
            except BaseException as error:  # it is raised where it is waited for
                answer.set_exception(error)
            finally:
                del given, task, answer  # they hold the rows of a batch
