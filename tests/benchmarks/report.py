"""The results as a table on the terminal, as JSON for programs, and as a page to commit."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.benchmarks import memory, peak_memory, peers_table, service_load
from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.measuring import Found

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
    written = {
        "comparisons": [dataclasses.asdict(one) | {"reached": one.reached} for one in found.comparisons],
        "rates": [
            {"ensemble": ensemble, "caller": caller, **dataclasses.asdict(rate)}
            for (ensemble, caller), rate in found.rates.items()
        ],
        "held": [dataclasses.asdict(one) for one in found.held],
        "peaks": [dataclasses.asdict(one) | {"reached": one.reached} for one in found.peaks],
        "loads": [dataclasses.asdict(one) for one in found.loads],
    }
    path.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def write_page(found: Found, machine: Mapping[str, str], command: str, notes: str, path: Path) -> None:
    """Writes the page: the machine, the command, the tables, how it was measured."""
    lines = ["# Results", "", f"Made by `{command}`. Do not edit.", ""]
    lines += [f"- {name}: {text}" for name, text in machine.items()]
    lines += ["", _line(HEADINGS), _line(["---"] * len(HEADINGS))]
    lines += [_line(cells(comparison)) for comparison in found.comparisons]
    parts = [
        "\n".join([*lines, "", "![Rows a second](results.svg)", ""]),
        peers_table.page(found.rates) if found.rates else "",
        memory.page(found.held) if found.held else "",
        peak_memory.page(found.peaks) if found.peaks else "",
        *map(service_load.page, found.loads),
        notes,
    ]
    path.write_text("\n".join(part.strip() + "\n" for part in parts if part), encoding="utf-8")


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"
