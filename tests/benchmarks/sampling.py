"""How fast something is: from runs of two lengths, taken in turns with what it is compared with."""

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
"""After the first turn long runs take this many starts, or more: runs differ, and one should stay below a tenth."""

_PART: Final = 0.1
"""A start is to be less than this part of a long run."""

_MORE_STARTS: Final = 13
"""Long runs that come because it was not take this many starts."""

_LONGER: Final = 3
"""Long runs become at most this many times as long as the first one."""

_SAME: Final = 1e-4
"""Answers may differ by this part: some ways give a model doubles, others floats."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        rows: Rows that were scored.
        seconds: How long it took.
        answer: Mean of the answers.
    """

    rows: int
    seconds: float
    answer: float


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to score rows.

    Attributes:
        run: Scores that many rows.
        rows: Rows of the first long run; the others have these, or more.
        scores: What it scores the rows with: ways that score with the same give the same answers.
        step: Rows of a run are a multiple of this, in runs of any length: each of the different rows comes equally
            often.
        started: Seconds that were needed once, before the first run, where it goes on running between runs.
    """

    run: Callable[[int], Run]
    rows: int
    scores: str
    step: int = BATCH
    started: float = 0.0


@dataclasses.dataclass(frozen=True)
class Rate:
    """How fast a way is.

    Attributes:
        rows_per_second: Without what a run costs to start.
        start_seconds: What it costs to start.
        started: Seconds that were needed once, before the first run.
        long_seconds: What a long run took, start and all.
    """

    rows_per_second: float
    start_seconds: float
    started: float
    long_seconds: float


def rows_per_second(
    ways: Mapping[str, Way], rounds: int, progress: Callable[[str], None]
) -> dict[str, float]:
    """Measures ways to score the same rows in turns: first each once, then each once more, and so on.

    Args:
        ways: The ways by name.
        rounds: How often each is measured, after a run that is not.
        progress: Told what is being measured.

    Returns:
        The median of each way's rows a second.

    Raises:
        ValueError: The ways give different answers, or runs are too short to tell the rate of one.
    """
    rates = measure(ways, rounds, progress)
    if missing := ways.keys() - rates.keys():
        raise ValueError(f"runs are too short: {', '.join(sorted(missing))}")
    return {name: rate.rows_per_second for name, rate in rates.items()}


def measure(ways: Mapping[str, Way], rounds: int, progress: Callable[[str], None]) -> dict[str, Rate]:
    """Measures as ``rows_per_second`` does; gives the medians of what it costs to start, too.

    Short runs come first: one that is not measured, and half as many as there are turns, whose median goes with all
    long ones. Then a long run a turn. Where the runs so far say that a start is much of a long run, the next turn has
    a longer one. Where it is still too much after all turns, there are more turns, each with a longer run instead of
    the shortest, until the median is one of these. A way whose run ends with an error, or whose runs are too short to
    tell its rate, is left out.

    Raises:
        ValueError: The ways give different answers.
    """
    left = {name: _Measured(way) for name, way in ways.items()}
    starts = (rounds + 1) // 2
    for turn in range(starts + 1):
        lengths = {name: of_way.way.rows // SHORT for name, of_way in left.items()}
        label = f"start {turn} of {starts}" if turn else "warming up"
        for name, run in _turn(left, lengths, label, progress).items():
            if turn:
                left[name].shorts.append(run)
    for turn in range(rounds):
        lengths = {name: of_way.long_enough(_STARTS) for name, of_way in left.items()}
        for name, run in _turn(left, lengths, f"{turn + 1} of {rounds}", progress).items():
            left[name].longs.append(run)
    for _ in range(starts if rounds > 1 else 0):
        too_short = {name: of_way for name, of_way in left.items() if of_way.starts_too_much()}
        lengths = {name: of_way.long_enough(_MORE_STARTS) for name, of_way in too_short.items()}
        for name, run in _turn(left, lengths, "a longer run", progress).items():
            left[name].longs.remove(min(left[name].longs, key=lambda long: long.rows))
            left[name].longs.append(run)
    rates: dict[str, Rate] = {}
    for name, of_way in left.items():
        try:
            rates[name] = of_way.rate()
        except _TooShort as exc:
            progress(f"{name} is left out: {exc}")
    return rates


def _turn(
    left: dict[str, _Measured], rows: Mapping[str, int], label: str, progress: Callable[[str], None]
) -> dict[str, Run]:
    """Runs each of some ways with so many rows; removes those from ``left`` whose run ends with an error.

    Raises:
        ValueError: The ways give different answers.
    """
    ran: dict[str, Run] = {}
    answers: dict[str, dict[str, float]] = {}
    for name, of_way in rows.items():
        way = left[name].way
        progress(f"{name}, {label}")
        try:
            ran[name] = way.run(_whole(way, of_way))
        except CommandFailed as exc:
            progress(f"{name} is left out: {exc}")
            del left[name]
            continue
        answers.setdefault(way.scores, {})[name] = ran[name].answer
    for of_the_same in answers.values():
        _check_same(of_the_same)
    return ran


class _TooShort(Exception):
    """Runs differ by more than their rows."""


@dataclasses.dataclass(frozen=True)
class _Measured:
    """What has been measured of a way so far."""

    way: Way
    shorts: list[Run] = dataclasses.field(default_factory=list)
    longs: list[Run] = dataclasses.field(default_factory=list)

    def rate(self) -> Rate:
        short = sorted(self.shorts, key=lambda run: run.seconds)[len(self.shorts) // 2]
        rates = [_rate(short, long) for long in self.longs]
        starts = [_start(long, rate) for long, rate in zip(self.longs, rates, strict=True)]
        seconds = statistics.median(long.seconds for long in self.longs)
        return Rate(statistics.median(rates), max(statistics.median(starts), 0.0), self.way.started, seconds)

    def long_enough(self, starts: int) -> int:
        """Gives the rows of the next long run: those of the first one, or more where so many starts take longer."""
        found = self._rate_so_far()
        if found is None:
            return self.way.rows
        needed = math.ceil(found.rows_per_second * found.start_seconds * (starts - 1))
        return min(max(needed, self.way.rows), self.way.rows * _LONGER)

    def starts_too_much(self) -> bool:
        found = self._rate_so_far()
        return found is not None and found.start_seconds >= found.long_seconds * _PART

    def _rate_so_far(self) -> Rate | None:
        try:
            return self.rate() if self.longs else None
        except _TooShort:
            return None


def _whole(way: Way, rows: int) -> int:
    return max(rows // way.step, 1) * way.step


def _rate(short: Run, long: Run) -> float:
    if long.rows <= short.rows or long.seconds <= short.seconds:
        raise _TooShort(f"{long.rows} rows took no longer than {short.rows}")
    return (long.rows - short.rows) / (long.seconds - short.seconds)


def _start(long: Run, rate: float) -> float:
    return long.seconds - long.rows / rate


def _check_same(answers: Mapping[str, float]) -> None:
    (first, expected), *others = answers.items()
    for name, answer in others:
        if not math.isclose(answer, expected, rel_tol=_SAME):
            raise ValueError(f"{name} answers {answer} on average, {first} {expected}")
