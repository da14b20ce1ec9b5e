"""The results as a table on the terminal, as JSON for programs, and as a page to commit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.benchmarks import memory, peak_memory, peers_table, records, service_load
from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.measuring import Found
from tests.benchmarks.records import Record
from tests.benchmarks.sampling import Rate
from tests.benchmarks.workload import NAMES

HEADINGS: Final = ("ensemble", "caller", "what", "measured", "against", "measured", "ratio", "target", "")


def cells(comparison: Comparison) -> tuple[str, ...]:
    """Gives a comparison as the texts of a line."""
    return (
        comparison.ensemble,
        comparison.caller,
        comparison.what,
        _measured(comparison.rows_per_second, comparison.seconds, comparison.batch_rows),
        comparison.against,
        _measured(
            comparison.against_rows_per_second, comparison.against_seconds, comparison.against_batch_rows
        ),
        f"{comparison.ratio:.2f}",
        _target(comparison),
        "reached" if comparison.reached else "missed",
    )


def _measured(rate: float | None, seconds: float | None, batch_rows: float | None) -> str:
    if batch_rows is not None:
        return f"{batch_rows:,.0f} rows a batch"
    if rate is not None:
        return f"{rate:,.0f} rows/s"
    seconds = seconds or 0.0
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1_000:.1f} ms"


def _target(comparison: Comparison) -> str:
    if comparison.target_difference is not None:
        return f"at most {comparison.target_difference} s more"
    return f"{'at least' if comparison.seconds is None else 'at most'} {comparison.target}"


def show(found: Found, console: Console) -> None:
    """Prints the tables."""
    if found.comparisons:
        _show_comparisons(found.comparisons, console)
    if found.rates:
        peers_table.show(found.rates, console)
    if found.held:
        memory.show(found.held, console)
    if found.peaks:
        peak_memory.show(found.peaks, console)
    for load in found.loads:
        service_load.show(load, console)


def _show_comparisons(comparisons: Sequence[Comparison], console: Console) -> None:
    table = Table(title="Benchmarks: medians, ratios in one run on one machine")
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if number in (3, 5, 6) else "left")
    for comparison in comparisons:
        style = "green" if comparison.reached else "red"
        *texts, verdict = cells(comparison)
        table.add_row(*texts, f"[{style}]{verdict}[/]")
    console.print(table)


def write_json(found: Found, path: Path) -> None:
    """Writes an object: lists of comparisons and of rates, and what was found of memory."""
    path.write_text(json.dumps(records.as_data(found), indent=2) + "\n", encoding="utf-8")


def write_page(runs: Sequence[Record], notes: str, path: Path) -> None:
    """Writes the page: the runs, the machine, the tables, how it was measured."""
    tables = [
        "\n".join(_head(runs)),
        "\n".join(_lines_of_comparisons(runs)),
        "![Rows a second](results.svg)\n",
        peers_table.page(*_rates_with_marks(runs)),
    ]
    for of, page in (("held", memory.page), ("peaks", peak_memory.page)):
        found = next((getattr(run.found, of) for run in runs if getattr(run.found, of)), None)
        tables += [page(found)] if found else []
    tables += [service_load.page(load) for run in runs for load in run.found.loads]
    path.write_text("\n".join(part.strip() + "\n" for part in (*tables, notes)), encoding="utf-8")


def _head(runs: Sequence[Record]) -> Iterator[str]:
    yield from ("# Results", "")
    if len(runs) == 1:
        yield f"Made by `{runs[0].command}`. Do not edit."
    else:
        yield "Made in several runs. A line compares what one run measured, whose number it bears. Do not edit."
        yield ""
        yield from (
            f"{number}. `{run.command}`, commit {run.machine['Commit']}" for number, run in enumerate(runs, 1)
        )
    yield ""
    yield from (f"- {name}: {text}" for name, text in runs[0].machine.items())
    for number, run in enumerate(runs[1:], 2):
        for name, text in run.machine.items():
            if name != "Commit" and text != runs[0].machine.get(name):
                yield f"- {name}, run {number}: {text}"


def _lines_of_comparisons(runs: Sequence[Record]) -> Iterator[str]:
    headings = HEADINGS if len(runs) == 1 else (*HEADINGS, "run")
    yield from (_line(headings), _line(["---"] * len(headings)))
    numbered = [(one, number) for number, run in enumerate(runs, 1) for one in run.found.comparisons]
    for comparison, number in sorted(numbered, key=lambda one: _place(one[0].ensemble)):
        yield _line((*cells(comparison), str(number))[: len(headings)])


def _rates_with_marks(runs: Sequence[Record]) -> tuple[peers_table.Rates, peers_table.Marks]:
    rates: dict[tuple[str, str], Rate] = {}
    marks: dict[tuple[str, str], str] = {}
    for number, run in enumerate(runs, 1):
        rates |= run.found.rates
        marks |= dict.fromkeys(run.found.rates, f" ({number})" if len(runs) > 1 else "")
    return dict(sorted(rates.items(), key=lambda one: _place(one[0][0]))), marks


def _place(ensemble: str) -> int:
    """Gives where the lines of an ensemble stand, whichever run they are of; what is none of them comes last."""
    return NAMES.index(ensemble) if ensemble in NAMES else len(NAMES)


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"
