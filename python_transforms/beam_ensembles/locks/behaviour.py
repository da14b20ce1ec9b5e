"""How the answers of two versions of an ensemble differ on the same rows, and which nodes that begins at."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.locks.answers import Answers
from beam_ensembles.locks.lock_text import NodeLock
from beam_ensembles.locks.shifts import LEAST_TOLERANCE, Shifts, shifts

_MOST_SLICES: Final = 200
_OTHERS: Final = "(others)"


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnShift:
    """By how much a column differs.

    Attributes:
        column: Its name.
        node: The node that makes it.
        is_output: Whether it is an output of the ensemble.
        rows: How many rows were compared.
        changed: Rows with another value, beyond the tolerance.
        relabelled: Rows with another label or likeliest class; None where the column has numbers.
        absent: Rows on which one version alone has a value.
        largest: The largest difference of a number; None where the column has none.
        median: The median difference of the rows.
        first: The number of the first row with another value; None where there is none.
    """

    column: str
    node: str
    is_output: bool
    rows: int
    changed: int
    relabelled: int | None
    absent: int
    largest: float | None
    median: float | None
    first: int | None

    def as_data(self) -> dict[str, Any]:
        """Returns it as plain data."""
        found = dataclasses.asdict(self)
        found["share"] = self.changed / self.rows if self.rows else 0.0
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """A node whose answers differ although it read the same.

    Attributes:
        node: Its name.
        rows: On how many rows that is so.
        reaches: On how many of them an output of the ensemble differs.
    """

    node: str
    rows: int
    reaches: int


@dataclasses.dataclass(frozen=True, slots=True)
class SliceShift:
    """The rows of one value of a field.

    Attributes:
        value: The value as text.
        rows: How many there are.
        relabelled: How many have another label, of any output.
        changed: How many have another value, of any output.
    """

    value: str
    rows: int
    relabelled: int
    changed: int


@dataclasses.dataclass(frozen=True, slots=True)
class Behaviour:
    """How the answers differ.

    Attributes:
        rows: How many rows were compared.
        relabelled: Rows with another label in any output.
        changed: Rows with another value in any output.
        columns: The columns that both versions have, outputs first.
        causes: The nodes that the differences begin at, those with the most rows first.
        slices: The rows by the values of a field, those with the most changes first.
        failed: How many rows each version cannot score.
        first_failure: The first row that the new version fails on and the old one does not: its number and why.
    """

    rows: int
    relabelled: int
    changed: int
    columns: tuple[ColumnShift, ...]
    causes: tuple[Cause, ...]
    slices: tuple[SliceShift, ...]
    failed: tuple[int, int]
    first_failure: tuple[int, str] | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The columns, nodes and tolerances of a comparison.

    Attributes:
        makers: The node of each column that both versions have.
        outputs: The outputs that both have.
        nodes: The nodes of the new version, in the order in which they run.
        scores: The columns that have a score per class.
        tolerance: By how much of its size a number of each column may differ.
        absolute: By how much a number may differ instead, whatever its size; or None.
    """

    makers: Mapping[str, str]
    outputs: Sequence[str]
    nodes: Mapping[str, NodeLock]
    scores: frozenset[str] = frozenset()
    tolerance: Mapping[str, float] = dataclasses.field(default_factory=dict)
    absolute: float | None = None


class Comparison:
    """Compares answers chunk by chunk, and keeps a few numbers of each row and column.

    Args:
        compared: The columns, nodes and tolerances.
    """

    def __init__(self, compared: Compared) -> None:
        self._compared = compared
        self._parts: dict[str, list[Shifts]] = {column: [] for column in compared.makers}
        self._numbers: list[Sequence[int]] = []
        self._gone: list[np.ndarray] = []
        self._slices: dict[str, int] = {}
        self._slice_of: list[np.ndarray] = []
        self._failed = [0, 0]
        self._first_failure: tuple[int, str] | None = None
        self._origins: dict[str, list[np.ndarray]] = collections.defaultdict(list)

    def add(self, old: Answers, new: Answers, numbers: Sequence[int], by: Sequence[str] = ()) -> None:
        """Compares the answers for a chunk.

        Args:
            old: Those of the old version.
            new: Those of the new one.
            numbers: Which row of the data each is.
            by: The slice of each row; empty where there are none.
        """
        rows, compared = len(numbers), self._compared
        failed = old.failed(rows), new.failed(rows)
        for at, one in enumerate(failed):
            self._failed[at] += int(one.sum())
        if self._first_failure is None:
            fresh = next((one for one in new.failures if not failed[0][one.index]), None)
            if fresh is not None:
                place = f"node '{fresh.node}'" if fresh.node else "the row itself"
                said = f"{place}: [{fresh.error.code}] {fresh.error.message}"
                self._first_failure = (numbers[fresh.index], said)
        found: dict[str, Shifts] = {}
        for column in compared.makers:
            tolerance = compared.tolerance.get(column, LEAST_TOLERANCE)
            found[column] = shifts(
                old.columns[column],
                new.columns[column],
                tolerance,
                absolute=compared.absolute,
                are_scores=column in compared.scores,
            )
            self._parts[column].append(found[column])
        self._numbers.append(numbers)
        self._gone.append(failed[0] != failed[1])
        for node, where in self._begins(old, new, found, rows):
            self._origins[node].append(where)
        if by:
            self._slice_of.append(np.array([self._slice(value) for value in by], np.int32))

    def _slice(self, value: str) -> int:
        if value not in self._slices and len(self._slices) >= _MOST_SLICES:
            value = _OTHERS
        return self._slices.setdefault(value, len(self._slices))

    def _begins(
        self, old: Answers, new: Answers, found: Mapping[str, Shifts], rows: int
    ) -> Iterator[tuple[str, np.ndarray]]:
        """Yields each node with the rows on which it answers something else although it read the same.

        A column that one version alone has is none that both read: then the node itself is another one. Recorded
        answers lack the rows' own columns, which are the same.
        """
        none = np.zeros(rows, np.bool_)
        for name, node in self._compared.nodes.items():
            read = none.copy()
            for column in node.reads:
                if column in found:
                    read |= found[column].differs
                elif column in old.columns and column in new.columns:
                    read |= shifts(old.columns[column], new.columns[column], 0.0).differs
            made = none.copy()
            for column in node.outputs:
                if column in found:
                    made |= found[column].differs
            yield name, made & ~read

    def found(self) -> Behaviour:
        """Returns what was found."""
        numbers = [number for part in self._numbers for number in part]
        gone = _joined(self._gone)
        columns = {name: _whole(parts) for name, parts in self._parts.items()}
        changed, relabelled = gone.copy(), gone.copy()
        for name in self._compared.outputs:
            changed |= columns[name].changed
            own = columns[name].relabelled
            if own is not None:
                relabelled |= own
        return Behaviour(
            len(numbers),
            int(relabelled.sum()),
            int(changed.sum()),
            tuple(self._column(name, columns[name], numbers) for name in self._in_order()),
            tuple(self._causes(columns, changed)),
            tuple(self._by_slice(changed, relabelled)),
            (self._failed[0], self._failed[1]),
            self._first_failure,
        )

    def _in_order(self) -> list[str]:
        outputs = self._compared.outputs
        return [*outputs, *(name for name in self._compared.makers if name not in outputs)]

    def _column(self, name: str, found: Shifts, numbers: Sequence[int]) -> ColumnShift:
        sizes = None if found.size is None else found.size[~np.isnan(found.size)]
        has_sizes = sizes is not None and len(sizes) > 0
        return ColumnShift(
            name,
            self._compared.makers[name],
            name in self._compared.outputs,
            len(numbers),
            int(found.changed.sum()),
            None if found.relabelled is None else int(found.relabelled.sum()),
            int(found.absent.sum()),
            float(np.max(sizes)) if has_sizes and sizes is not None else None,
            float(np.median(sizes)) if has_sizes and sizes is not None else None,
            numbers[int(np.argmax(found.changed))] if found.changed.any() else None,
        )

    def _causes(self, columns: Mapping[str, Shifts], changed: np.ndarray) -> list[Cause]:
        """Returns where differences begin; a node whose own differ only within the tolerance where no other does."""
        found = []
        for node, said in self._compared.nodes.items():
            where = _joined(self._origins[node])
            beyond = where.copy()
            own = [columns[name].changed for name in said.outputs if name in columns]
            beyond &= np.logical_or.reduce(own) if own else np.False_
            reaches = int((where & changed).sum())
            if beyond.any() or reaches:
                found.append(Cause(node, int(where.sum()), reaches))
        return sorted(found, key=lambda one: (-one.reaches, -one.rows))

    def _by_slice(self, changed: np.ndarray, relabelled: np.ndarray) -> list[SliceShift]:
        if not self._slice_of:
            return []
        of = _joined(self._slice_of)
        found = [
            SliceShift(
                value, int((of == at).sum()), int(relabelled[of == at].sum()), int(changed[of == at].sum())
            )
            for value, at in self._slices.items()
        ]
        return sorted(found, key=lambda one: (-one.changed / max(1, one.rows), -one.rows, one.value))


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.bool_), *parts]) if parts else np.zeros(0, np.bool_)


def _whole(parts: Sequence[Shifts]) -> Shifts:
    relabelled = [one.relabelled for one in parts if one.relabelled is not None]
    sizes = [one.size for one in parts if one.size is not None]
    return Shifts(
        _joined([one.changed for one in parts]),
        _joined([one.differs for one in parts]),
        _joined(relabelled) if parts and len(relabelled) == len(parts) else None,
        np.concatenate(sizes) if parts and len(sizes) == len(parts) else None,
        absent=_joined([one.absent for one in parts]),
    )
