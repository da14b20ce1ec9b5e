"""A batch on its way through an ensemble: rows as they came, columns as the nodes see them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from beam_ensembles.beam_repairs.pickled_rows import Packed, pack, unpack
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.class_meanings import Meaning
from beam_ensembles.graph.kinds import CheckedNode, Columns, valid_rows, validity


@dataclasses.dataclass(frozen=True, slots=True)
class RowBatch:
    """Elements of one window, with what Beam knows about each.

    Attributes:
        elements: The elements as the PCollection holds them.
        micros: Event time of each, microseconds since the epoch; None where all have that of the batch itself.
        windows: The windows that all of them are in.
    """

    elements: Sequence[Any]
    micros: Sequence[int] | None = None
    windows: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.elements)

    def __reduce__(self) -> tuple[Any, ...]:
        return _row_batch, (pack(self.elements), self.micros, self.windows)


def _row_batch(packed: Packed, micros: Sequence[int] | None, windows: tuple[Any, ...]) -> RowBatch:
    return RowBatch(unpack(packed), micros, windows)


@dataclasses.dataclass(frozen=True, slots=True)
class RowFailure:
    """A row that could not be scored.

    Attributes:
        index: Its place in the batch.
        node: The node that failed on it; empty where the row itself was not as declared.
        error: Why.
    """

    index: int
    node: str
    error: NodeError


class Watch(Protocol):
    """Is told what each node does with the rows of a batch."""

    def asked(
        self,
        node: CheckedNode,
        batch: ColumnBatch,
        runs: np.ndarray | None,
        faults: Mapping[int, NodeError],
        nanoseconds: int,
    ) -> None:
        """Takes what a node was asked and where it failed, before its columns are added to the batch.

        Args:
            node: The node.
            batch: The batch without the node's columns; keep its arrays, not the batch itself, which changes.
            runs: The rows that it ran on; None: all.
            faults: The errors of the rows that it failed on, by their positions.
            nanoseconds: How long its calls took.
        """

    def answered(self, node: CheckedNode, batch: ColumnBatch) -> None:
        """Takes the batch with the node's columns, without rows that left; not called where the batch fails."""


@dataclasses.dataclass(slots=True)
class ColumnBatch:
    """The columns of the rows of a batch that are still being scored.

    Attributes:
        rows: For each item of the columns the index of its row in the batch.
        columns: Column name to values, one leading item a row of ``rows``.
        failures: The rows that have left, in no order.
        meanings: What the models that made the columns know of them.
        watch: Is told what the nodes of this process do; it does not cross to others.
    """

    rows: np.ndarray
    columns: dict[str, np.ndarray]
    failures: list[RowFailure] = dataclasses.field(default_factory=list)
    meanings: Mapping[str, Meaning] = dataclasses.field(default_factory=dict)
    watch: Watch | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, columns: Mapping[str, np.ndarray]) -> None:
        """Adds columns, one leading item a row of ``rows``, as nodes may have them: read-only.

        A model that writes into what it is given would change what the other nodes read, and what it reads itself when
        a batch that failed is tried again in halves. Columns from Arrow cannot be written to anyway. Those who mean to
        look first and copy (scikit-learn's ``copy=False`` does).
        """
        self.columns.update({name: read_only(values) for name, values in columns.items()})

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Returns columns, each with its companion where it has one."""
        found: dict[str, np.ndarray] = {}
        for name in names:
            found[name] = self.columns[name]
            if (companion := validity(name)) in self.columns:
                found[companion] = self.columns[companion]
        return found

    def present(self, column: str) -> np.ndarray:
        """Returns which rows have a value in a column, ``[N]``."""
        return valid_rows(self.columns, column)

    def ignore(self, node: str, places: Sequence[int]) -> None:
        """Notes the rows that a node failed on and that go on without its answer."""
        found = np.zeros(len(self.rows), dtype=np.bool_)
        found[list(places)] = True
        self.add({ignored(node): found})

    def take(self, places: np.ndarray | slice, rows: np.ndarray) -> ColumnBatch:
        """Returns some of the rows as a batch of its own, without failures.

        Args:
            places: Their positions in the columns.
            rows: Their indices in the rows that go with that batch.
        """
        found = ColumnBatch(rows, {}, meanings=self.meanings, watch=self.watch)
        found.add({name: values[places] for name, values in self.columns.items()})
        return found

    def keep(self, names: Collection[str]) -> None:
        """Drops the columns that nothing reads any more; companions stay with their column."""
        self.columns = {
            name: values
            for name, values in self.columns.items()
            if name.removesuffix(validity("")) in names or name.endswith(ignored(""))
        }
        self.meanings = {name: meaning for name, meaning in self.meanings.items() if name in names}

    def drop(self, node: str, faults: Mapping[int, NodeError]) -> None:
        """Takes rows out: ``faults`` maps positions in the columns to reasons."""
        if not faults:
            return
        self.failures.extend(RowFailure(int(self.rows[at]), node, error) for at, error in faults.items())
        keep = np.ones(len(self.rows), dtype=bool)
        keep[list(faults)] = False
        self.rows = self.rows[keep]
        self.columns = {name: read_only(values[keep]) for name, values in self.columns.items()}


def size_of(column: np.ndarray) -> int:
    """Returns about how many bytes the values of a column have: of texts and bytes their length, of lists 8 an item."""
    if column.dtype != object:
        return column.nbytes
    return sum(_size_of(value) for value in column.tolist())


def _size_of(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(_size_of(key) + _size_of(item) for key, item in value.items())
    return sum(map(_size_of, value)) if isinstance(value, list | tuple) else 8


def join(batches: Sequence[ColumnBatch]) -> ColumnBatch:
    """Puts batches without failures, whose columns mean the same, into one; its rows are theirs, one after another."""
    found = ColumnBatch(np.arange(sum(map(len, batches))), {}, meanings=batches[0].meanings)
    found.add(concatenated([batch.columns for batch in batches]))
    return found


def concatenated(parts: Sequence[Columns]) -> dict[str, np.ndarray]:
    """Puts the columns of parts one behind the other, each with at least one column; those of one are not copied."""
    if len(parts) == 1:
        return dict(parts[0])
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: np.concatenate([_column(part, name) for part in parts]) for name in names}


def _column(part: Columns, name: str) -> np.ndarray:
    """Returns a column of a part; what another part notes of some rows holds for all of one that notes nothing."""
    if name in part:
        return part[name]
    return np.full(len(next(iter(part.values()))), name.endswith(validity("")), dtype=np.bool_)


def ignored(node: str) -> str:
    """Returns the name under which a batch notes the rows whose errors at a node were ignored; never a column's."""
    return f"{node}!"


def read_only(values: np.ndarray) -> np.ndarray:
    """Returns a view of a column that cannot be written to."""
    found = values.view()
    found.flags.writeable = False
    return found
