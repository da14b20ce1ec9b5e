"""``python -m tests.benchmarks [--quick]``: how fast ensembles are, against the same work without this project.

Prints a table, and writes it to ``build/bench.json``. A whole run also writes ``tests/benchmarks/RESULTS.md``. Ends
with 0 whether or not the targets are reached: this is a measurement, not a test.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rich.console import Console

from scripts.layout import BUILD, relative
from scripts.processes import end_with_cleanup_on_sigterm
from scripts.steps import Missing
from scripts.temporary import own_temporary_folder
from tests.benchmarks import (
    cascade,
    comparisons,
    go_ways,
    language,
    machine,
    memory,
    report,
    sampling,
    service_times,
)
from tests.benchmarks import workload as workloads
from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.python_ways import python_ways
from tests.benchmarks.sampling import Way

JSON: Final = BUILD / "bench.json"
WIDTH: Final = 160
"""Characters that the table needs; a log has no width of its own."""
HERE: Final = Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        rounds: How often each way is measured.
        part: Rows of a run are divided by this.
        starts: How often the service is started.
        expansions: How often something is expanded.
    """

    rounds: int
    part: int
    starts: int
    expansions: int


WHOLE: Final = Effort(rounds=3, part=1, starts=5, expansions=50)
QUICK: Final = Effort(rounds=1, part=4, starts=1, expansions=5)


def measure(effort: Effort, console: Console) -> Iterator[Comparison]:
    """Measures everything that can be measured here."""
    for workload in workloads.load_all():
        workloads.write_values(workload)
        with python_ways(workload.name) as ways:
            rates = _rates(ways, effort, _telling(console, f"{workload.name}, Python"))
        yield from comparisons.of_rates(workload.name, comparisons.PYTHON, rates)
    with cascade.ways() as ways:
        rates = _rates(ways, effort, _telling(console, "cascade"))
    yield from cascade.compared(rates)
    yield language.of_cheap_nodes(effort.rounds)
    yield language.of_members(effort.rounds)
    yield from _from_go(effort, console)
    ready = service_times.ready(effort.starts, _telling(console, "service, ready"))
    yield comparisons.of_ready(ready)
    yield comparisons.of_expand(service_times.expand(effort.expansions, _telling(console, "service, Expand")))


def _from_go(effort: Effort, console: Console) -> Iterator[Comparison]:
    try:
        go_ways.build()
    except Missing as exc:
        console.print(f"Go is left out: {exc}", style="yellow")
        return
    for workload in workloads.load_all():
        with go_ways.go_ways(workload) as ways:
            rates = _rates(ways, effort, _telling(console, f"{workload.name}, Go on Prism"))
        yield from comparisons.of_rates(workload.name, comparisons.GO, rates)


def _rates(ways: Mapping[str, Way], effort: Effort, progress: Callable[[str], None]) -> Mapping[str, float]:
    ways = {name: dataclasses.replace(way, rows=way.rows // effort.part) for name, way in ways.items()}
    return sampling.rows_per_second(ways, effort.rounds, progress)


def _telling(console: Console, what: str) -> Callable[[str], None]:
    return lambda text: console.print(f"  {what}: {text}", style="dim", highlight=False)


def main() -> int:
    """Measures; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and short runs, only to see that all works")
    quick = parser.parse_args().quick
    end_with_cleanup_on_sigterm()
    console, start = Console(), time.monotonic()
    console.width = max(console.width, WIDTH)
    found: list[Comparison] = []
    with own_temporary_folder():
        for comparison in measure(QUICK if quick else WHOLE, console):
            found.append(comparison)
            report.write_json(found, JSON)  # what is measured is kept, whatever comes after it
        held = memory.measure()
    report.show(found, console)
    memory.show(held, console)
    written = [JSON]
    if not quick:
        notes = memory.page(held) + (HERE / "METHOD.md").read_text(encoding="utf-8")
        page = HERE / "RESULTS.md"
        report.write_page(found, machine.description(), "make bench", notes, page)
        written.append(page)
    console.print(f"{', '.join(map(relative, written))}; {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
