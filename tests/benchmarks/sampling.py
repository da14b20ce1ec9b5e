"""How fast something is: from runs of two lengths, in turns with what it is compared with."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Mapping
from typing import Final

from scripts.shell import CommandFailed
from tests.benchmarks.workload import BATCH

SHORT: Final = 8
"""A short run is this part of a long one. The difference of the two is free of what a run costs to start."""
_STARTS: Final = 11
"""After the first turn, long runs take at least this many starts: so a start is less than a tenth of a run."""
_LONGER: Final = 3
"""Long runs become at most this many times as long as the first one."""
_SAME: Final = 1e-4
"""Answers may differ by this part: some ways pass doubles to a model, others floats."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: how many rows were scored, how long it took, and the mean of the answers."""

    rows: int
    seconds: float
    answer: float


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to score rows.

    Attributes:
        run: Scores that many rows.
        rows: Rows of the first long run; the others have these, or more.
        step: Rows of a run are a multiple of this: each of the different rows comes equally often.
        started: Seconds needed once, before the first run, if it keeps running between runs.
    """

    run: Callable[[int], Run]
    rows: int
    step: int = BATCH
    started: float = 0.0


@dataclasses.dataclass(frozen=True)
class Rate:
    """How fast a way is.

    Attributes:
        rows_per_second: Without what a run costs to start.
        start_seconds: What a run costs to start.
        started: Seconds needed once, before the first run.
        long_seconds: How long a long run took, with its start.
    """

    rows_per_second: float
    start_seconds: float
    started: float
    long_seconds: float


def measure(ways: Mapping[str, Way], rounds: int, say: Callable[[str], None]) -> dict[str, Rate]:
    """Measures ways to score the same rows in turns: first each once, then each once more, and so on.

    Short runs come first: one that does not count, and half as many as there are turns, of which the median counts.
    Then comes one long run per turn, each long enough for what a start has taken so far.

    Args:
        ways: The ways by name.
        rounds: How often each is measured.
        say: Told what is measured, and which ways are left out: those of which a run fails, or whose runs are too short
            to tell a rate.

    Returns:
        The medians of the others.

    Raises:
        ValueError: The ways give different answers.
    """
    left = {name: _Measured(way) for name, way in ways.items()}
    starts = (rounds + 1) // 2
    for turn in range(starts + 1):
        label = f"start {turn} of {starts}" if turn else "warming up"
        ran = _turn(left, {name: one.way.rows // SHORT for name, one in left.items()}, label, say)
        for name, run in ran.items() if turn else ():
            left[name].shorts.append(run)
    for turn in range(rounds):
        rows = {name: one.next_rows() for name, one in left.items()}
        for name, run in _turn(left, rows, f"{turn + 1} of {rounds}", say).items():
            left[name].longs.append(run)
    rates = {name: one.rate() for name, one in left.items()}
    for name in [name for name, rate in rates.items() if rate is None]:
        say(f"{name} is left out: long runs took no longer than short ones")
    return {name: rate for name, rate in rates.items() if rate is not None}


def _turn(
    left: dict[str, _Measured], rows: Mapping[str, int], label: str, say: Callable[[str], None]
) -> dict[str, Run]:
    """Runs each way with so many rows; removes those from ``left`` whose run fails."""
    ran: dict[str, Run] = {}
    for name, wanted in rows.items():
        way = left[name].way
        say(f"{name}, {label}")
        try:
            ran[name] = way.run(max(wanted // way.step, 1) * way.step)
        except CommandFailed as exc:
            say(f"{name} is left out: {exc}")
            del left[name]
    for name, run in ran.items():
        first, expected = next((one, its.answer) for one, its in ran.items())
        if not math.isclose(run.answer, expected, rel_tol=_SAME):
            raise ValueError(f"{name} answers {run.answer} on average, {first} {expected}")
    return ran


@dataclasses.dataclass(frozen=True)
class _Measured:
    """What has been measured of a way so far."""

    way: Way
    shorts: list[Run] = dataclasses.field(default_factory=list)
    longs: list[Run] = dataclasses.field(default_factory=list)

    def rate(self) -> Rate | None:
        """Returns the rate so far; None if it cannot be told."""
        if not self.longs:
            return None
        short = sorted(self.shorts, key=lambda run: run.seconds)[len(self.shorts) // 2]
        if any(long.rows <= short.rows or long.seconds <= short.seconds for long in self.longs):
            return None
        rates = [(long.rows - short.rows) / (long.seconds - short.seconds) for long in self.longs]
        starts = [long.seconds - long.rows / rate for long, rate in zip(self.longs, rates, strict=True)]
        return Rate(
            statistics.median(rates),
            max(statistics.median(starts), 0.0),
            self.way.started,
            statistics.median(long.seconds for long in self.longs),
        )

    def next_rows(self) -> int:
        """Returns the rows of the next long run: those of the first one, or more if starts take long."""
        found = self.rate()
        if found is None:
            return self.way.rows
        needed = math.ceil(found.rows_per_second * found.start_seconds * (_STARTS - 1))
        return min(max(needed, self.way.rows), self.way.rows * _LONGER)
