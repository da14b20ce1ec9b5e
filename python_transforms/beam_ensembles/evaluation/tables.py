"""The tables of an evaluation as texts, for a terminal and for a page: what to read first comes first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from beam_ensembles.evaluation.comparisons import Difference
from beam_ensembles.evaluation.results import Compared, Evaluation

_SMALL = 1e-3


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A table of texts.

    Attributes:
        title: What it shows.
        head: The names of the columns; the first column holds names, the others values.
        rows: The rows.
        marked: The places of the rows that stand out.
        about: How to read it, or empty.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: frozenset[int] = frozenset()
    about: str = ""


def tables_of(found: Evaluation) -> list[Table]:
    """Returns the tables that have rows, in the order in which they are read."""
    every = [_subjects(found), _left_out(found), _slices(found), _costs(found), _disagreement(found)]
    return [table for table in every if table.rows]


def verdict(found: Evaluation) -> str:
    """Returns in one sentence whether the ensemble is better than its best member."""
    if not found.compared:
        return "There is no other answer to compare the ensemble with."
    best = found.compared[0]
    gain = best.gains.get(found.main) or next(iter(best.gains.values()))
    name = found.main if found.main in best.gains else next(iter(best.gains))
    interval = f"95 % interval {_signed(gain.low)} to {_signed(gain.high)}"
    shown = f"gain in {found.metric_names[name]} {_signed(gain.value)} ({interval})"
    if gain.low > 0:
        said = f"better than its best member '{best.name}'"
    elif gain.high < 0:
        said = f"worse than '{best.name}' alone"
    else:
        said = f"not better than '{best.name}' alone beyond chance"
    on = "" if best.rows == found.ensemble.rows else f" on the {best.rows:,} rows that it answers"
    test = "" if best.test is None else f"; McNemar: {_test(best)}"
    return f"The ensemble is {said}{on}: {shown}{test}."


def _test(one: Compared) -> str:
    assert one.test is not None  # noqa: S101
    return (
        f"right on {one.test.better:,} rows where '{one.name}' is wrong, "
        f"wrong on {one.test.worse:,} where it is right, p {probability(one.test.p_value)}"
    )


def probability(value: float) -> str:
    """Returns a p-value as people read it."""
    return f"< {_SMALL:g}" if value < _SMALL else f"= {value:.3f}"


def number(value: float | None) -> str:
    """Returns a metric with four significant digits, a dash where it is not defined."""
    if value is None:
        return "-"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.4g}" if abs(value) < 1e6 else f"{value:.3e}"


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value)}"


def _gain(gain: Difference | None) -> str:
    if gain is None:
        return "-"
    return f"{_signed(gain.value)} ({_signed(gain.low)} to {_signed(gain.high)})"


def _subjects(found: Evaluation) -> Table:
    compared = {one.name: one for one in found.compared}
    costs = {cost.name: cost for cost in found.costs}
    total = sum(cost.milliseconds for cost in found.costs) / found.rows
    names = list(found.metric_names)
    rows = []
    for one in found.judged:
        beside = compared.get(one.name)
        cost = total if one.role == "ensemble" else costs[one.name].per_row
        gain = "" if beside is None else _gain(beside.gains.get(found.main))
        values = [number(one.metrics.get(name)) for name in names]
        rows.append((one.name, one.role, f"{one.rows:,}", *values, f"{cost:.3f}", gain))
    gained = f"gain in {found.metric_names[found.main]}"
    head = ("answer of", "is", "rows", *found.metric_names.values(), "ms/row", gained)
    about = "The gain is what the ensemble is better by on the rows that both answer, with its 95 % interval."
    return Table("The ensemble and its members", head, tuple(rows), frozenset((0,)), about)


def _left_out(found: Evaluation) -> Table:
    rows = []
    shown = list(found.metric_names)[:4]
    for one in found.left_out:
        values = [number(one.metrics.get(name)) for name in shown]
        gains = one.gains.get(found.main) or next(iter(one.gains.values()), None)
        rows.append((one.combiner, one.member, f"{one.rows:,}", *values, _gain(gains)))
    head = ("combiner", "without", "rows", *(found.metric_names[name] for name in shown), "the member adds")
    about = "Combined again without the member, without a call of a model."
    return Table("Leave one out", head, tuple(rows), about=about)


def _slices(found: Evaluation) -> Table:
    names = list(found.metric_names)
    rows, marked = [], set()
    for at, one in enumerate(found.slices):
        values = [number(one.metrics.get(name)) for name in names]
        rows.append((one.value, f"{one.rows:,}", *values, "worse" if one.is_worse else ""))
        if one.is_worse:
            marked.add(at)
    head = (found.by, "rows", *found.metric_names.values(), "beyond chance")
    about = "'worse': than the other rows, corrected for the number of slices, at the level of 5 %."
    return Table(f"By {found.by}", head, tuple(rows), frozenset(marked), about)


def _costs(found: Evaluation) -> Table:
    rows = []
    for one in sorted(found.costs, key=lambda cost: -cost.milliseconds):
        through = "" if one.through is None else f"{100 * one.through:.1f} %"
        rows.append(
            (one.name, one.runs, f"{one.asked:,}", through, f"{one.calls:,}", f"{one.per_row:.4f}",
             f"{100 * one.share:.1f} %", f"{one.failed:,}")
        )  # fmt: skip
    head = ("node", "runs", "rows", "let through", "batches", "ms/row", "of the time", "failed")
    return Table("What each node costs", head, tuple(rows))


def _disagreement(found: Evaluation) -> Table:
    rows = tuple((one, other, _differs(found, value)) for one, other, value in found.disagreement)
    head = ("one", "other", "mean difference" if found.task == "numbers" else "differ on")
    return Table("Disagreement", head, rows)


def _differs(found: Evaluation, value: float) -> str:
    return number(value) if found.task == "numbers" else f"{100 * value:.2f} %"


def facts(found: Evaluation) -> list[tuple[str, str]]:
    """Returns what was evaluated, as names and values."""
    failed = sum(found.failed.values())
    said: list[tuple[str, str]] = [
        ("rows", f"{found.rows:,} of {found.input}"),
        ("label", found.label),
    ]
    if found.classes:
        listed = ", ".join(found.classes[:12]) + (", ..." if len(found.classes) > 12 else "")
        positive = f" (positive: {found.positive})" if found.positive else ""
        said.append(("classes", f"{listed}{positive}"))
    if failed:
        reasons = ", ".join(
            f"{rows:,} x [{code}]{f' in {node}' if node else ''}"
            for (node, code), rows in list(found.failed.items())[:3]
        )
        said.append(("without answer", f"{failed:,} rows: {reasons}"))
    return said


def as_lines(table: Table, most: int) -> Sequence[Sequence[str]]:
    """Returns the head and the first rows of a table."""
    return (table.head, *table.rows[:most])
