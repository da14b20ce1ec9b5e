"""An ensemble in plain Python, a row at a time, as the documentation has it: no batches, no numpy, no SQL."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Row = Mapping[str, Any]
Failure = tuple[str, str]
"""The node that failed on a row, and the error's code."""

Outcome = list[tuple[Any, ...]]
"""For each row, in order: ``("ok", columns)`` or ``("failed", node, code)``."""

_FAILED: Final = object()


class Refused(Exception):
    """A node has no answer for a row."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclasses.dataclass(frozen=True)
class Expression:
    """The same expression twice.

    Attributes:
        sql: As it stands in a file.
        columns: What it reads.
        of: As a function of a row.
    """

    sql: str
    columns: tuple[str, ...]
    of: Callable[[Row], Any]


@dataclasses.dataclass(frozen=True)
class PlainNode:
    """A node.

    Attributes:
        name: Its name.
        spec: The node in the file.
        reads: The columns that it reads, without those of its condition.
        gives: The columns that it adds, each with a word for what is in it (``double``, ``tensor``, ...).
        of: Computes a row's answer: a value for each column.
        takes_nulls: Whether it runs where a column is null.
        when: Its condition.
        on_error: The policy for rows that it fails on; None where the file says nothing.
        defaults: The columns' values where that is ``default``.
        enabled: Whether it is there at all.
        shadow: Whether it runs beside another.
    """

    name: str
    spec: Mapping[str, Any]
    reads: tuple[str, ...]
    gives: Mapping[str, str]
    of: Callable[[Row], Mapping[str, Any]]
    takes_nulls: bool = False
    when: Expression | None = None
    on_error: str | None = None
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    enabled: bool = True
    shadow: bool = False

    @property
    def quorum(self) -> int:
        """How many members must have a value; 0 where that is not asked for."""
        return int(self.spec.get("quorum", 0))

    def all_reads(self) -> tuple[str, ...]:
        """Returns all columns that it reads."""
        return (*self.reads, *(self.when.columns if self.when else ()))

    def as_in_file(self) -> dict[str, Any]:
        """Returns what stands below its name."""
        found = dict(self.spec)
        if self.when is not None:
            found["when"] = self.when.sql
        if self.on_error == "default":
            found["on_error"] = {"default": dict(self.defaults)}
        elif self.on_error is not None:
            found["on_error"] = self.on_error
        if not self.enabled:
            found["enabled"] = False
        return found


def scored(nodes: Sequence[PlainNode], row: Row, required: Sequence[str]) -> tuple[Row, set[Failure]]:
    """Scores a row.

    Args:
        nodes: In an order in which they can run.
        row: The input columns.
        required: Those that may not be null, where a node reads them.

    Returns:
        All columns, and the failures of which the row has one: which of several nodes fails first is nobody's promise.
    """
    nodes = [node for node in nodes if node.enabled]
    read = {column for node in nodes for column in node.all_reads()}
    if any(row[column] is None for column in required if column in read):
        return row, {("", "null_value")}
    members = {column for node in nodes if node.quorum for column in node.reads}
    columns, failures = dict(row), set()
    for node in nodes:
        try:
            columns.update(_answer(node, columns))
        except Refused as error:
            action = node.on_error or ("nullify" if node.shadow or members.intersection(node.gives) else "")
            if action == "nullify":
                columns.update(dict.fromkeys(node.gives))
            elif action == "default":
                columns.update(node.defaults)
            else:
                failures.add((node.name, error.code))
                columns.update(dict.fromkeys(node.gives, _FAILED))
    return columns, failures


def _answer(node: PlainNode, columns: Row) -> Mapping[str, Any]:
    if any(columns[column] is _FAILED for column in node.all_reads()):
        return dict.fromkeys(node.gives, _FAILED)
    if node.when is not None and node.when.of(columns) is not True:
        return dict.fromkeys(node.gives)
    present = sum(columns[column] is not None for column in node.reads)
    if node.quorum:
        if present < node.quorum:
            raise Refused("quorum_missed")
    elif not node.takes_nulls and present < len(node.reads):
        raise Refused("member_missing" if "combine" in node.spec else "null_value")
    return node.of(columns)


def is_as_plain(
    nodes: Sequence[PlainNode], rows: Sequence[Row], required: Sequence[str], found: Outcome
) -> None:
    """Ensures that each row came out as plain Python has it (``scored``)."""
    for row, (what, *outcome) in zip(rows, found, strict=True):
        columns, failures = scored(nodes, row, required)
        if what == "failed":
            assert tuple(outcome) in failures, (row, outcome, failures)
            continue
        assert not failures, (row, outcome, failures)
        for name, value in outcome[0].items():
            assert same(value, columns[name]), (row, name, value, columns[name])


def same(one: Any, other: Any) -> bool:
    """Returns whether two values are the same: fractions to a millionth of a millionth, NaN like NaN, rows by field."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-12)
    return bool(one == other)
