"""An evaluation on a terminal: whether the ensemble is worth it, then the tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from beam_ensembles.cli.ensemble_file import GREEN, RED, YELLOW, coloured
from beam_ensembles.cli.table_width import parts_of
from beam_ensembles.evaluation.results import Evaluation
from beam_ensembles.evaluation.tables import Table, facts, tables_of, verdict
from beam_ensembles.messages.printable import printable

_MOST_ROWS: Final = 12
_WIDEST: Final = 40


def summary_lines(found: Evaluation) -> Iterator[str]:
    """Yields the lines."""
    yield f"ensemble '{found.graph.spec.name}'"
    for name, value in facts(found):
        yield f"  {name:<14}  {value}"
    yield ""
    best = found.compared[0].gains.get(found.main) if found.compared else None
    colour = YELLOW if best is None or not best.is_certain else GREEN if best.low > 0 else RED
    yield coloured(printable(verdict(found)), colour, sys.stdout)
    for table in tables_of(found):
        yield ""
        yield from _lines(table)
    if found.notes:
        yield ""
    for note in found.notes:
        yield f"note: {note}"


def _lines(table: Table) -> Iterator[str]:
    rows = [[_cut(cell) for cell in row] for row in (table.head, *table.rows[:_MOST_ROWS])]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.head))]
    texts = [
        all(not cell[:1].isdigit() for row in rows[1:] for cell in row[at : at + 1])
        for at in range(len(widths))
    ]
    yield table.title
    for part in parts_of(widths):
        for place, row in enumerate(rows):
            cells = [row[at].ljust(widths[at]) if texts[at] else row[at].rjust(widths[at]) for at in part]
            line = "  " + "  ".join(cells).rstrip()
            is_marked = table.title.startswith("By ") and place - 1 in table.marked
            yield coloured(line, YELLOW, sys.stdout) if is_marked else line
    more = len(table.rows) - _MOST_ROWS
    if more > 0:
        yield f"  and {more:,} more (--json has all)"


def _cut(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
