"""The tables of a tuning as texts, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator

from beam_ensembles.evaluation.tables import Table
from beam_ensembles.tuning.results import Tuned


def tables_of(found: Tuned) -> Iterator[Table]:
    """Yields the tables that have rows, in the order in which they are read."""
    numbers = tuple((one.name, _number(one.before), _number(one.after)) for one in found.numbers)
    yield Table("Numbers", ("number", "before", "after"), numbers)
    if found.reached:
        sure = f"certain ({100 * (found.confidence or 0):g} %)"
        rows = tuple(
            (str(one.target), f"{one.rows:,}", f"{one.right / one.rows:.4f}", f">= {one.bound:.4f}")
            for one in found.reached
        )
        yield Table("Targets", ("target", "rows", "reached", sure), rows)
    held = tuple((one.name, _share(one.before), _share(one.after)) for one in found.measures)
    yield Table("Rows held out", ("rows held out", "before", "after"), held)


def facts(found: Tuned) -> list[tuple[str, str]]:
    """Returns what was tuned on, as names and values."""
    rows = f"{found.used:,} of {found.input} to tune on, {found.held:,} held out (seed {found.seed})"
    if found.folds is not None:
        rows = (
            f"{found.used:,} of {found.input} to tune on, held out in {found.folds} folds (seed {found.seed})"
        )
    return [("rows", rows), ("label", found.label)]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
