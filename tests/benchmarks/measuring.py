"""The parts of a measurement, one after another, and their targets."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from rich.console import Console

from tests.benchmarks import cascade, language, memory, sampling, service, ways
from tests.benchmarks import workload as workloads
from tests.benchmarks.report import Found, Line, Rates
from tests.benchmarks.sampling import Way

PARTS: Final = (*workloads.NAMES, "cascade", "language", "service", "memory", "load")
"""What can be measured alone."""

TARGETS: Final = (
    ("light", "go-prism", "bare loop, large batches", 0.6),
    ("light", "go-prism", "go-prism hand-wired", 30.0),
    ("light", "go-prism", "spark", 1.3),
    ("light", "java-prism", "bare loop, large batches", 0.5),
    ("light", "java-prism", "spark", 1.0),
    ("light", "python", "bare loop", 0.35),
    ("light", "python", "python hand-wired", 8.0),
    ("light", "python arrow", "bare loop, large batches", 0.6),
    ("light", "go-flink", "go-flink hand-wired", 5.0),
    ("digits", "python", "bare loop", 0.6),
    ("digits", "python", "python hand-wired", 8.0),
    ("digits", "go-prism", "bare loop, large batches", 0.6),
    ("digits", "go-prism", "go-prism hand-wired", 8.0),
    ("digits", "java-prism", "bare loop, large batches", 0.6),
    ("text", "python", "bare loop", 0.9),
    ("text", "go-prism", "bare loop", 0.9),
    ("text", "java-prism", "bare loop", 0.9),
    ("image", "python", "bare loop", 0.9),
    ("image", "go-prism", "bare loop", 0.9),
    ("image", "java-prism", "bare loop", 0.9),
)
"""Ensemble, caller, what it is compared with, and at least how many times as many rows per second it must score."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        rounds: How often each way is measured.
        callers_rounds: How often each caller of an ensemble is.
        part: Rows of a run are divided by this.
        starts: How often the service is started.
        expansions: How often something is expanded.
        load: How often it is to see that the service's memory stays as it is.
    """

    rounds: int = 3
    callers_rounds: int = 5
    part: int = 1
    starts: int = 5
    expansions: int = 50
    load: int = 10_000


WHOLE: Final = Effort()
QUICK: Final = Effort(rounds=1, callers_rounds=1, part=4, starts=1, expansions=5, load=400)

Say = Callable[[str], None]


def measure(
    parts: Collection[str], callers: Collection[str], effort: Effort, console: Console
) -> Iterator[tuple[str, Found]]:
    """Measures what can be measured here, part after part.

    Args:
        parts: Which of ``PARTS``.
        callers: Which of ``ways.PROVIDERS`` score the ensembles' rows.
        effort: How much.
        console: Where it says what it does.

    Yields:
        A part that is done, and what was found of it.
    """

    def telling(part: str) -> Say:
        return lambda text: console.print(f"  {part}: {text}", style="dim", highlight=False)

    ensembles = [name for name in workloads.NAMES if name in parts]
    providers = ways.built(callers if ensembles else (), telling("callers"))
    for name in ensembles:
        yield name, _of_ensemble(name, providers, effort, telling(name))
    measured: dict[str, Callable[[Say], Iterator[Line]]] = {
        "cascade": lambda say: _of_cascade(effort, say),
        "language": lambda _: _of_language(effort),
        "service": lambda say: service.measure(effort.starts, effort.expansions, say),
        "memory": lambda _: memory.measure(),
        "load": lambda say: service.measure_load(effort.load, say),
    }
    for part, lines in measured.items():
        if part in parts:
            yield part, Found(lines=list(lines(telling(part))))


def _of_ensemble(name: str, providers: Collection[ways.Provider], effort: Effort, say: Say) -> Found:
    workload, found = workloads.load(name), Found()
    workload.write_values()
    for together in ways.in_turns(providers):
        with ways.ways(workload, together, say) as callers:
            rates = sampling.measure(_shortened(callers, effort), effort.callers_rounds, say)
        found.rates |= {(name, caller): rate for caller, rate in rates.items()}
    found.lines += _compared(found.rates)
    if workload.one_node_member and ways.PROVIDERS["python"] in providers:
        with ways.ways(workload, [ways.ONE_NODE], say) as callers:
            alone = sampling.measure(_shortened(callers, effort), effort.rounds, say)
        found.lines += of_rates(name, alone, "ensemble of one node", "bare RunInference", 1.0)
    return found


def _compared(rates: Rates) -> Iterator[Line]:
    for ensemble, caller, against, target in TARGETS:
        if (ensemble, caller) in rates and (ensemble, against) in rates:
            ours, theirs = (rates[ensemble, one].rows_per_second for one in (caller, against))
            yield Line(ensemble, caller, "ensemble", ours, "rows/s", against, theirs, at_least=target)


def of_rates(
    ensemble: str, rates: Mapping[str, sampling.Rate], what: str, against: str, target: float
) -> Iterator[Line]:
    """Compares two ways of Python, if both could be measured."""
    if what in rates and against in rates:
        ours, theirs = (rates[one].rows_per_second for one in (what, against))
        yield Line(ensemble, "python", what, ours, "rows/s", against, theirs, at_least=target)


def _of_cascade(effort: Effort, say: Say) -> Iterator[Line]:
    with cascade.ways(cascade.ROWS) as found:
        rates = sampling.measure(_shortened(found, effort), effort.rounds, say)
    for way in (cascade.CASCADE, cascade.WAITS):
        yield from of_rates("cascade", rates, way, cascade.ALL, cascade.FASTER)
    yield from cascade.batches()
    with cascade.ways(cascade.CONDITION_ROWS) as found:
        rates = sampling.measure(found, cascade.OFTEN * effort.rounds, say)
    yield from of_rates("cascade", rates, cascade.KEEPS, cascade.ALL, cascade.KEPT)


def _of_language(effort: Effort) -> Iterator[Line]:
    with contextlib.ExitStack() as processes:  # processor time is that of all threads of a process
        yield from ways.isolated(processes, language.measure)(effort.rounds)


def _shortened(found: Mapping[str, Way], effort: Effort) -> dict[str, Way]:
    return {name: dataclasses.replace(way, rows=way.rows // effort.part) for name, way in found.items()}
