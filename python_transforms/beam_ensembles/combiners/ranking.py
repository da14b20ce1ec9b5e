"""Sorts lists of any length by their scores, those of all rows at once."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.combiners.members import Values
from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.types import Array, Scalar, Type, dtype_of, row_shape

_MOST_PADDING: Final = 8
"""How many times larger than the lists of a batch the table of equal rows may be in which they are sorted."""


def item_of(type_: Type) -> Type:
    """Returns the type of the items of a list, or of a tensor's first dimension."""
    if not isinstance(type_, Array):
        return type_
    shape = row_shape(type_)
    return Array(type_.element, shape[1:]) if len(shape) > 1 else type_.element


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """One field of the rows of a ranked list.

    Attributes:
        name: Its name.
        column: The column with the lists whose items it holds.
        dtype: The dtype that its numbers are to have; None where its values stay as they are.
    """

    name: str
    column: str
    dtype: np.dtype | None

    @classmethod
    def of(cls, name: str, column: str, item: Type, wanted: Type) -> Field:
        """Creates a field of a type from a list of items of another one."""
        is_number = isinstance(item, Scalar) and not item.nullable
        return cls(name, column, dtype_of(wanted) if is_number else None)

    def items(self, lists: Values, chosen: Values) -> list[Any]:
        """Returns some items of all rows' lists.

        Args:
            lists: The column.
            chosen: Their places among the items of all rows.
        """
        if lists.dtype != object:
            flat = lists.reshape(-1, *lists.shape[2:])[chosen]
            return list((flat if self.dtype is None else flat.astype(self.dtype)).tolist())
        every = itertools.chain.from_iterable(lists)
        if self.dtype is not None:
            return list(np.fromiter(every, self.dtype)[chosen].tolist())
        found = list(every)
        return [found[at] for at in chosen.tolist()]


@dataclasses.dataclass(frozen=True, slots=True)
class Ranking:
    """Turns a row's parallel lists into one list of rows, sorted by one of them.

    Attributes:
        scores: The column to sort by.
        dtype: The dtype of its numbers.
        k: The most items of a row to keep; None: all.
        outputs: The fields of the rows of each column to add.
    """

    scores: str
    dtype: np.dtype
    k: int | None
    outputs: Mapping[str, tuple[Field, ...]]

    def __call__(self, columns: Columns) -> Columns:
        """Sorts each row's lists.

        Raises:
            SomeFailed: Some rows' lists are not of one length (``misaligned``).
        """
        lengths = {name: _lengths(values) for name, values in columns.items()}
        wanted = lengths[self.scores]
        uneven = {name: np.flatnonzero(found != wanted) for name, found in lengths.items()}
        faults = {
            int(at): _misaligned(name, lengths[name][at], self.scores, wanted[at])
            for name, places in uneven.items()
            for at in places
        }
        if not faults:
            return self._ranked(columns, wanted)
        good = np.ones(len(wanted), dtype=np.bool_)
        good[list(faults)] = False
        rest = {name: values[good] for name, values in columns.items()}
        raise SomeFailed(self._ranked(rest, wanted[good]), faults)

    def _ranked(self, columns: Columns, lengths: Values) -> Columns:
        kept = lengths if self.k is None else np.minimum(lengths, self.k)
        chosen = _sorted(self._descending(columns[self.scores]), lengths, kept)
        ends = np.cumsum(kept).tolist()
        found: dict[str, Values] = {}
        for output, fields in self.outputs.items():
            best = _rows(
                {field.name: field.items(columns[field.column], chosen) for field in fields}, len(chosen)
            )
            lists = [best[start:end] for start, end in zip([0, *ends], ends, strict=False)]
            found[output] = np.fromiter(lists, dtype=object, count=len(lists))
        return found

    def _descending(self, scores: Values) -> Values:
        """Returns numbers of which the least is that of the greatest score; a NaN comes last."""
        flat = (
            np.fromiter(itertools.chain.from_iterable(scores), self.dtype)
            if scores.dtype == object
            else scores.reshape(-1)
        )
        return np.asarray(-flat if flat.dtype.kind == "f" else ~flat)


def _sorted(keys: Values, lengths: Values, kept: Values) -> Values:
    """Returns the places of the first items of each row in the order of their keys; equal keys keep their order.

    Args:
        keys: Of the items of all rows, one row after the other.
        lengths: How many items each row has, ``[N]``.
        kept: How many of them to give, ``[N]``.
    """
    starts, longest = np.cumsum(lengths) - lengths, int(lengths.max(initial=0))
    if longest * len(lengths) > _MOST_PADDING * len(keys):  # one list is far longer than the others
        order = np.lexsort((keys, np.repeat(np.arange(len(lengths)), lengths)))
        return np.asarray(order[np.arange(len(keys)) - np.repeat(starts, lengths) < np.repeat(kept, lengths)])
    last = np.nan if keys.dtype.kind == "f" else np.iinfo(keys.dtype).max
    places = np.arange(longest)
    table = np.full((len(lengths), longest), last, keys.dtype)
    table[places < lengths[:, None]] = keys
    order = np.argsort(table, axis=1, kind="stable")
    return np.asarray((order + starts[:, None])[places < kept[:, None]])


def _rows(fields: Mapping[str, list[Any]], count: int) -> list[dict[str, Any]]:
    """Creates rows of the values of their fields."""
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, values in fields.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


def _lengths(lists: Values) -> Values:
    """Returns how many items each row's list has, ``[N]``."""
    if lists.dtype != object:
        return np.full(len(lists), lists.shape[1])
    return np.fromiter(map(len, lists), dtype=np.intp, count=len(lists))


def _misaligned(name: str, found: int, scores: str, wanted: int) -> NodeError:
    text = f"'{name}' has {found} items, but '{scores}' has {wanted}; each candidate needs one score"
    return NodeError("misaligned", text)
