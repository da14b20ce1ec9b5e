"""How much of the machine nothing uses while this process works: cores, and memory for more processes like it.

Linux says it in ``/proc``, and a container's limits in its control group. Elsewhere nothing counts as spare.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LONG_SECONDS: Final = 0.005
"""Work that takes less is not measured: that would cost too much of it."""
_PAUSE: Final = 64
"""So much work is passed over after some that was short."""
_LEAST_USE: Final = 0.25
"""A process that uses less of a core while it works waits for others."""
_LEAST_GAIN: Final = 0.1
"""Less than such a part of another process is not worth one."""
_MEMORY_SHARE: Final = 0.5
"""Of the memory that is available, processes may take so much."""

_PROC: Final = Path("/proc")
_GROUPS: Final = Path("/sys/fs/cgroup")
_CACHED: Final = ("inactive_file", "total_inactive_file")
"""By the name of version 2 of control groups, and of version 1."""


class SpareCores:
    """The cores that this process uses while it works, and those that nothing uses meanwhile. For several threads.

    Attributes:
        seconds: How long it has worked, as far as that was measured.
        items: How much it has done in that time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working, self._passed, self._done = 0, 0, 0
        self._start: tuple[float, float, float] | None = None
        self.forget()

    def forget(self) -> None:
        """Begins to measure anew."""
        self.seconds = self._used = self._idle = 0.0
        self.items = 0

    @contextlib.contextmanager
    def measured(self, items: int = 0) -> Iterator[None]:
        """Measures while this or another thread works within such a block.

        Args:
            items: How much is done in it.
        """
        with self._lock:
            if not self._working:
                self._start, self._done = None if self._passed else _times(), 0
            self._working += 1
        try:
            yield
        finally:
            with self._lock:
                self._working -= 1
                self._done += items
                self._note()

    @property
    def items_per_second(self) -> float:
        """How much it does in a second of work."""
        return self.items / self.seconds if self.seconds else 0.0

    def processes(self) -> int:
        """Returns how many processes like this one would keep all cores busy that it or nothing uses; at least 1."""
        used, cores = self._cores()
        return max(min(math.ceil(cores / used - _LEAST_GAIN), _fit_into_memory()), 1)

    def processes_of_one_core(self) -> int:
        """Returns how many processes could have about one of these cores each; at least 1."""
        _, cores = self._cores()
        return max(min(round(cores), _fit_into_memory()), 1)

    def _cores(self) -> tuple[float, float]:
        """Returns how many cores this process uses while it works, and how many it or nothing uses."""
        if not self.seconds:
            return 1.0, 1.0
        used = max(self._used / self.seconds, _LEAST_USE)
        return used, min(used + self._idle / self.seconds, cores_of_group())

    def _note(self) -> None:
        """Adds what was measured since the start of the work, or since this was called last."""
        if self._start is None:
            self._passed -= not self._working
            return
        now = _times()
        seconds, used, idle = (after - before for after, before in zip(now, self._start, strict=True))
        if seconds < LONG_SECONDS:
            if not self._working:
                self._passed = _PAUSE
            return
        self.seconds += seconds
        self._used += used
        self._idle += idle
        self.items += self._done
        self._start, self._done = now, 0


def _times() -> tuple[float, float, float]:
    return time.monotonic(), time.process_time(), idle_seconds()


def idle_seconds() -> float:
    """Returns for how many seconds in all the cores of this process have been idle; always 0 where none says that."""
    try:
        own = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        lines = (_PROC / "stat").read_text(encoding="ascii").splitlines()
    except (OSError, AttributeError):
        return 0.0
    fields = (line.split() for line in lines if line.startswith("cpu"))
    ticks = sum(
        int(found[4]) + int(found[5]) for found in fields if found[0] in own
    )  # idle, waiting for disks
    return ticks / os.sysconf("SC_CLK_TCK")


def cores_of_group() -> float:
    """Returns how many cores the container of this process may use; infinity where it has no such limit."""
    for quota, period in (
        (_number("cpu.max"), _number("cpu.max", 1)),
        (_number("cpu/cpu.cfs_quota_us"), _number("cpu/cpu.cfs_period_us")),
    ):
        if quota > 0 and period > 0:
            return quota / period
    return math.inf


def _fit_into_memory() -> int:
    """Returns how many processes as large as this one there is memory for."""
    try:
        pages = int((_PROC / "self" / "statm").read_text(encoding="ascii").split()[1])
        known = dict(line.split(":") for line in (_PROC / "meminfo").read_text(encoding="ascii").splitlines())
        available = int(known["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 1
    for limit, usage, detail in (
        ("memory.max", "memory.current", "memory.stat"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
    ):
        if (most := _number(limit)) > 0 and (taken := _number(usage)) > 0:
            available = min(available, most - taken + _cached(detail))
    return int(available * _MEMORY_SHARE / (pages * os.sysconf("SC_PAGE_SIZE")))


def _cached(detail: str) -> int:
    """Returns the bytes that a container's usage counts, and the system takes back when somebody needs them."""
    return next((int(words[1]) for words in _lines(detail) if words[0] in _CACHED), 0)


def _number(name: str, at: int = 0) -> int:
    """Returns a number of a file of the control groups; -1 where there is none, or no limit."""
    for words in _lines(name)[:1]:
        if at < len(words) and words[at].isdecimal():
            return int(words[at])
    return -1


def _lines(name: str) -> list[list[str]]:
    try:
        return [line.split() for line in (_GROUPS / name).read_text(encoding="ascii").splitlines() if line]
    except OSError:
        return []
