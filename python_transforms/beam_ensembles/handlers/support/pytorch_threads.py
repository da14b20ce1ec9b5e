"""The threads in which PyTorch runs, as few as there are calls at one time.

PyTorch's OpenMP (libgomp) keeps a team of threads for every thread that ever called it. As soon as all teams together
have more threads than there are cores, they wait for each other asleep, not spinning, also if just one team has work: a
small network takes half as long again. Beam's worker gives the next bundle to the thread that was idle longest, of up
to 17, so that teams would be made until that is so. Here calls go to the thread that was idle shortest.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from beam_ensembles.beam_repairs.thread_counters import as_here
from beam_ensembles.errors import ENDS_THE_PROGRAM, EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.graph.class_meanings import meanings_of
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member
from beam_ensembles.messages.foreign_errors import described

T = TypeVar("T")

_IDLE_SECONDS: Final = 10.0
"""How long a thread that is not needed any more is kept for the next calls at one time."""


def load_here(node: CheckedNode) -> Member:
    """Loads a node in this process; what needs PyTorch, in as few threads as there are calls at once.

    Args:
        node: The node.

    Raises:
        EnsembleError: It cannot be loaded.
    """
    load = node.kind.load if node.kind.distribution is None else functools.partial(_load_foreign, node.kind)
    if not node.kind.needs_pytorch:
        return load(node)
    return _InTeams(TEAMS.run(functools.partial(load, node)))


def _load_foreign(kind: Kind, node: CheckedNode) -> Member:
    """Loads a node of a kind that a distribution adds; what goes wrong in there becomes one sentence."""
    try:
        member = kind.load(node)
        found: object = member  # whatever its annotations say
        if callable(found):
            return member
        fault = f"returns a {type(found).__name__}, which cannot be called with columns"
    except (EnsembleError, *ENDS_THE_PROGRAM):
        raise
    except BaseException as error:  # SystemExit of somebody else's code, too
        raise _load_failed(node, f"raises {described(error)}") from error
    raise _load_failed(node, fault)


def _load_failed(node: CheckedNode, fault: str) -> InvalidEnsemble:
    text = f"'load' of the kind '{node.kind.name}', of the installed distribution {node.kind.distribution}, {fault}"
    return InvalidEnsemble(
        [Problem(node.spec.path(node.spec.kind), "load_failed", text)], ensemble=node.ensemble
    )


class _InTeams:
    """Calls a member in the threads of ``TEAMS``."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self.meanings = meanings_of(member)

    def __call__(self, columns: Columns) -> Columns:
        return TEAMS.run(functools.partial(self._member, columns))


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


TEAMS: Final = LastUsed()
"""Those of this process in which PyTorch runs."""
