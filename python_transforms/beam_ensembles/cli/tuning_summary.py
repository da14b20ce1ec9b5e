"""A tuning on a terminal: what was gained, the numbers, and what the rows held out show."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from beam_ensembles.cli.ensemble_file import GREEN, coloured
from beam_ensembles.evaluation.tables import Table
from beam_ensembles.messages.printable import printable
from beam_ensembles.tuning.results import Tuned
from beam_ensembles.tuning.tables import facts, tables_of


def summary_lines(found: Tuned, written: str | None) -> Iterator[str]:
    """Yields the lines.

    Args:
        found: The result.
        written: The file that the numbers were written to, or None.
    """
    yield f"ensemble '{found.graph.spec.name}'"
    for name, value in facts(found):
        yield f"  {name:<6}  {printable(value)}"
    yield ""
    yield coloured(printable(found.verdict), GREEN, sys.stdout)
    for table in tables_of(found):
        yield ""
        yield from _lines(table)
    if found.notes:
        yield ""
    for note in found.notes:
        yield f"note: {note}"
    yield ""
    if written is not None:
        yield f"written: {written}"
    else:
        yield "Nothing was written; --write puts the numbers into the file, -o into another one."


def _lines(table: Table) -> Iterator[str]:
    cells = [table.head, *(tuple(printable(cell) for cell in row) for row in table.rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(table.head))]
    for row in cells:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  " + "  ".join([row[0].ljust(widths[0]), *rest]).rstrip()
