"""What differs between two versions of an ensemble, for a terminal and as Markdown for a pull request."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from beam_ensembles.cli.ensemble_file import GREEN, RED, YELLOW, coloured
from beam_ensembles.cli.table_width import parts_of
from beam_ensembles.locks.behaviour import Behaviour, ColumnShift
from beam_ensembles.locks.differences import Report, number, percent
from beam_ensembles.messages.printable import printable

_MOST_ROWS: Final = 12
_WIDEST: Final = 60


_Rows: TypeAlias = tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Table:
    title: str
    head: tuple[str, ...]
    rows: _Rows


def text_lines(report: Report, verdict: str) -> Iterator[str]:
    """Yields the lines for a terminal.

    Args:
        report: What differs.
        verdict: The first line.
    """
    colour = RED if report.beyond else GREEN if report.is_same else YELLOW
    yield coloured(printable(verdict), colour, sys.stdout)
    for line in report.beyond:
        yield coloured(printable(f"  beyond the limits: {line}"), RED, sys.stdout)
    for table in _tables(report):
        yield ""
        yield table.title
        yield from _aligned(table)
    for note in _notes(report):
        yield ""
        yield printable(f"note: {note}")


def markdown_lines(report: Report, verdict: str) -> Iterator[str]:
    """Yields the lines of Markdown.

    Args:
        report: What differs.
        verdict: The first line.
    """
    yield f"**{_escaped(verdict)}**"
    if report.beyond:
        yield ""
    for line in report.beyond:
        yield f"- beyond the limits: {_escaped(line)}"
    for table in _tables(report):
        yield ""
        yield f"#### {_escaped(table.title)}"
        yield ""
        yield f"| {' | '.join(map(_escaped, table.head))} |"
        yield f"|{'---|' * len(table.head)}"
        for row in table.rows[:_MOST_ROWS]:
            yield f"| {' | '.join(map(_escaped, row))} |"
        if len(table.rows) > _MOST_ROWS:
            yield ""
            yield f"and {len(table.rows) - _MOST_ROWS:,} more"
    for note in _notes(report):
        yield ""
        yield f"Note: {_escaped(note)}"


def _escaped(text: str) -> str:
    found = printable(text)
    for mark in "\\`*_|<>#[]":
        found = found.replace(mark, f"\\{mark}")
    return found


def _aligned(table: _Table) -> Iterator[str]:
    rows = [[_cut(cell) for cell in row] for row in (table.head, *table.rows[:_MOST_ROWS])]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.head))]
    for part in parts_of(widths):
        for row in rows:
            yield "  " + "  ".join(row[at].ljust(widths[at]) for at in part).rstrip()
    if len(table.rows) > _MOST_ROWS:
        yield f"  and {len(table.rows) - _MOST_ROWS:,} more (--json has all)"


def _cut(text: str) -> str:
    found = printable(text)
    return found if len(found) <= _WIDEST or " " in found else f"{found[: _WIDEST - 1]}…"


def _tables(report: Report) -> Iterator[_Table]:
    rows: _Rows
    promised = [one for one in report.found if one.what == "contract"]
    if promised:
        rows = tuple((one.text, "breaks" if one.breaks else "") for one in promised)
        yield _Table("Contract", ("change", ""), rows)
    behaviour = report.behaviour
    if behaviour is not None:
        yield from _of_behaviour(report, behaviour)
    if report.quality:
        rows = tuple(
            (name, _value(before), _value(after), _step(before, after))
            for name, (before, after) in report.quality.items()
        )
        yield _Table("Quality", ("metric", "old", "new", "change"), rows)
    others = [one for one in report.found if one.what != "contract"]
    if others:
        rows = tuple((one.what, one.text, ", ".join(one.nodes)) for one in others)
        yield _Table("Nodes, files and versions", ("what", "difference", "nodes"), rows)


def _of_behaviour(report: Report, behaviour: Behaviour) -> Iterator[_Table]:
    rows: _Rows
    head: tuple[str, ...]
    shown = [one for one in behaviour.columns if one.changed]
    if shown:
        head = (
            "column",
            "node",
            "rows changed",
            "labels changed",
            "largest shift",
            "median shift",
            "first row",
        )
        yield _Table(f"Answers on {behaviour.rows:,} rows", head, tuple(_column(one) for one in shown))
    if behaviour.causes:
        rows = tuple(
            (
                one.node,
                f"{one.rows:,}",
                f"{one.reaches:,}",
                "; ".join(report.reasons(one.node)) or "nothing of it is known to differ",
            )
            for one in behaviour.causes
        )
        head = ("node", "rows changed by it", "of them outputs differ", "what differs of it")
        yield _Table("Where the differences begin", head, rows)
    if behaviour.slices and behaviour.changed:
        rows = tuple(
            (one.value, f"{one.rows:,}", percent(one.relabelled / one.rows), percent(one.changed / one.rows))
            for one in behaviour.slices
        )
        yield _Table(f"By {report.by}", (report.by, "rows", "labels changed", "rows changed"), rows)


def _column(one: ColumnShift) -> tuple[str, ...]:
    share = one.rows or 1
    return (
        one.column if one.is_output else f"({one.column})",
        one.node,
        f"{one.changed:,} ({percent(one.changed / share)})",
        "" if one.relabelled is None else f"{one.relabelled:,} ({percent(one.relabelled / share)})",
        "" if one.largest is None else number(one.largest),
        "" if one.median is None else number(one.median),
        "" if one.first is None else f"{one.first:,}",
    )


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _step(before: float | None, after: float | None) -> str:
    return "" if before is None or after is None else f"{after - before:+.4f}"


def _notes(report: Report) -> Iterator[str]:
    if report.not_compared:
        yield f"the answers were not compared: {report.not_compared}"
    behaviour = report.behaviour
    if behaviour is None:
        return
    if any(one.changed and not one.is_output for one in behaviour.columns):
        yield "columns in brackets are not outputs"
    if any(behaviour.failed):
        old, new = behaviour.failed
        said = behaviour.first_failure
        why = "" if said is None else f"; row {said[0]:,} fails now: {said[1]}"
        yield f"rows that cannot be scored: {old:,} in the old version, {new:,} in the new one{why}"


def verdict_of(report: Report) -> str:
    """Returns in one sentence what differs between two versions."""
    said = []
    breaking = sum(one.breaks for one in report.found)
    if breaking:
        said.append(f"{breaking} change{'' if breaking == 1 else 's'} of the contract break readers")
    behaviour = report.behaviour
    if behaviour is not None:
        share = behaviour.relabelled / behaviour.rows if behaviour.rows else 0.0
        if behaviour.changed:
            rows = f"{behaviour.changed:,} of {behaviour.rows:,} rows"
            said.append(f"the answers of {rows} differ, the labels of {percent(share)}")
        elif report.changed_inside:
            said.append(
                f"nodes answer differently, but the outputs of all {behaviour.rows:,} rows are the same"
            )
        else:
            said.append(f"the answers of all {behaviour.rows:,} rows are the same")
    others = sum(one.is_promised and one.what != "contract" for one in report.found)
    if others and not (behaviour is not None and behaviour.changed):
        said.append(f"nodes or files of models differ ({others})")
    if report.better is not None and report.worse is not None:
        said.append(f"better on {report.better:,}, worse on {report.worse:,}")
    if behaviour is not None and behaviour.causes and behaviour.changed:
        nodes: Sequence[str] = [one.node for one in behaviour.causes if one.reaches][:3]
        if nodes:
            said.append(f"it begins at {', '.join(nodes)}")
    if not said:
        said.append("the descriptions differ" if report.found else "nothing differs")
    return "; ".join(said)
