"""What is measured, part after part, and what was found."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from rich.console import Console

from tests.benchmarks import (
    cascade,
    comparisons,
    language,
    memory,
    peak_memory,
    peers_table,
    providers,
    sampling,
    service_load,
    service_times,
)
from tests.benchmarks import workload as workloads
from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.memory import Held
from tests.benchmarks.peak_memory import Peak
from tests.benchmarks.python_ways import isolated, one_node_ways
from tests.benchmarks.sampling import Rate, Way
from tests.benchmarks.service_load import Load

PARTS: Final = (*workloads.NAMES, "cascade", "language", "service", "memory", "load")
"""What can be measured alone."""


@dataclasses.dataclass
class Found:
    """What was found so far.

    Attributes:
        rates: Rates by ensemble and caller.
        comparisons: What was compared, of these rates and of all else.
        held: How often workers hold a model.
        peaks: How much memory workers need at most.
        loads: What the service did under load, if that was measured.
    """

    rates: dict[tuple[str, str], Rate] = dataclasses.field(default_factory=dict)
    comparisons: list[Comparison] = dataclasses.field(default_factory=list)
    held: list[Held] = dataclasses.field(default_factory=list)
    peaks: list[Peak] = dataclasses.field(default_factory=list)
    loads: list[Load] = dataclasses.field(default_factory=list)

    def add(self, more: Found) -> None:
        """Adds what was found of another part."""
        self.rates |= more.rates
        self.comparisons += more.comparisons
        self.held += more.held
        self.peaks += more.peaks
        self.loads += more.loads


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

    rounds: int
    callers_rounds: int
    part: int
    starts: int
    expansions: int
    load: int


WHOLE: Final = Effort(rounds=3, callers_rounds=5, part=1, starts=5, expansions=50, load=10_000)
QUICK: Final = Effort(rounds=1, callers_rounds=1, part=4, starts=1, expansions=5, load=400)

Say = Callable[[str], None]


def measure(
    parts: Collection[str], ways: Collection[str], effort: Effort, console: Console
) -> Iterator[tuple[str, Found]]:
    """Measures what can be measured here, part after part.

    Args:
        parts: Which of ``PARTS``.
        ways: Which providers' ways score the ensembles' rows.
        effort: How much.
        console: Where it says what it does.

    Yields:
        A part that is done, and what was found of it.
    """
    names = [name for name in workloads.NAMES if name in parts]
    built = providers.build(ways if names else (), _telling(console, "callers"))
    for name in names:
        say = _telling(console, name)
        found = _of_ensemble(name, built, effort, say)
        if "python" in ways:
            found.comparisons += _of_one_node(name, effort, say)
        yield name, found
    if "cascade" in parts:
        yield "cascade", Found(comparisons=list(_of_cascade(effort, _telling(console, "cascade"))))
    if "language" in parts:
        with contextlib.ExitStack() as processes:  # processor time is that of all threads of a process
            compared = isolated(processes, language.measure)(effort.rounds)
        yield "language", Found(comparisons=compared)
    if "service" in parts:
        yield "service", Found(comparisons=list(_of_service(effort, _telling(console, "service"))))
    if "memory" in parts:
        yield "memory", Found(held=memory.measure(), peaks=peak_memory.measure())
    if "load" in parts:
        yield "load", Found(loads=[service_load.measure(effort.load, _telling(console, "load"))])


def _of_ensemble(name: str, built: Mapping[str, providers.Provider], effort: Effort, say: Say) -> Found:
    workload = workloads.load(name)
    workloads.write_values(workload)
    found: dict[tuple[str, str], Rate] = {}
    for together in providers.in_turns(built):
        with providers.all_ways(workload, together, say) as ways:
            rates = sampling.measure(_shortened(ways, effort.part), effort.callers_rounds, say)
        found |= {(name, caller): rate for caller, rate in rates.items()}
    return Found(found, list(peers_table.of_rates(found)))


def _of_one_node(name: str, effort: Effort, say: Say) -> Iterator[Comparison]:
    """Compares what has no other callers than Python."""
    with one_node_ways(name) as ways:
        if ways:
            yield comparisons.of_one_node(name, _rates(ways, effort, say))


def _of_cascade(effort: Effort, say: Say) -> Iterator[Comparison]:
    with cascade.ways(cascade.ROWS) as ways:
        rates = _rates(ways, effort, say)
    yield from cascade.compared(rates)
    often = dataclasses.replace(effort, rounds=cascade.OFTEN * effort.rounds, part=1)
    with cascade.ways(cascade.CONDITION_ROWS) as ways:
        yield cascade.of_condition(_rates(ways, often, say))


def _of_service(effort: Effort, say: Say) -> Iterator[Comparison]:
    yield comparisons.of_ready(service_times.ready(effort.starts, say))
    yield comparisons.of_expand(service_times.expand(effort.expansions, say))


def _rates(ways: Mapping[str, Way], effort: Effort, say: Say) -> Mapping[str, float]:
    return sampling.rows_per_second(_shortened(ways, effort.part), effort.rounds, say)


def _shortened(ways: Mapping[str, Way], part: int) -> dict[str, Way]:
    return {name: dataclasses.replace(way, rows=way.rows // part) for name, way in ways.items()}


def _telling(console: Console, what: str) -> Say:
    return lambda text: console.print(f"  {what}: {text}", style="dim", highlight=False)
