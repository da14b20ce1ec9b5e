"""A tuning on a terminal: what was gained, the numbers, and what the rows held out show."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from beam_ensembles.cli.ensemble_file import GREEN, coloured
from beam_ensembles.messages.printable import printable
from beam_ensembles.tuning.results import Measure, Tuned


def summary_lines(found: Tuned, written: str | None) -> Iterator[str]:
    """Yields the lines.

    Args:
        found: What was found.
        written: The file that the numbers were written to, or None.
    """
    yield f"ensemble '{found.graph.spec.name}'"
    rows = f"{found.used:,} of {found.input} to tune on, {found.held:,} held out"
    yield f"  rows    {rows} (seed {found.seed})"
    yield f"  label   {printable(found.label)}"
    yield ""
    yield coloured(printable(found.verdict), GREEN, sys.stdout)
    yield ""
    yield from _table(
        ("number", "before", "after"),
        [(one.name, _number(one.before), _number(one.after)) for one in found.numbers],
    )
    if found.reached:
        yield ""
        sure = f"certain ({100 * (found.confidence or 0):g} %)"
        yield from _table(
            ("target", "rows", "reached", sure),
            [
                (str(one.target), f"{one.rows:,}", f"{one.right / one.rows:.4f}", f">= {one.bound:.4f}")
                for one in found.reached
            ],
        )
    yield ""
    yield from _table(
        ("rows held out", "before", "after"),
        [(one.name, _shown(one, one.before), _shown(one, one.after)) for one in found.measures],
    )
    if found.notes:
        yield ""
    for note in found.notes:
        yield f"note: {note}"
    yield ""
    if written is not None:
        yield f"written: {written}"
    else:
        yield "Nothing was written; --write puts the numbers into the file, -o into another one."


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _shown(one: Measure, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    cells = [head, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for row in cells:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  " + "  ".join([row[0].ljust(widths[0]), *rest]).rstrip()
