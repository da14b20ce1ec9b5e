"""Sorts lists of any length by their scores, those of all rows at once."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.combiners.members import Values
from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.types import Array, Scalar, Type, dtype_of, row_shape


def item_of(type_: Type) -> Type:
    """Gives the type of the items of a list, or of a tensor's first dimension."""
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
        """Makes a field of a type from a list of items of another one."""
        is_number = isinstance(item, Scalar) and not item.nullable
        return cls(name, column, dtype_of(wanted) if is_number else None)

    def items(self, lists: Values, chosen: Values) -> list[Any]:
        """Gives some items of all rows' lists.

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
    """Makes a list of rows of a row's parallel lists, sorted by one of them.

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
        rows, starts = np.arange(len(lengths)), np.cumsum(lengths) - lengths
        owners = np.repeat(rows, lengths)
        places = np.arange(len(owners)) - np.repeat(starts, lengths)
        order = np.lexsort((self._descending(columns[self.scores]), owners))
        kept = lengths if self.k is None else np.minimum(lengths, self.k)
        chosen = order if self.k is None else order[places < self.k]
        ends = np.cumsum(kept).tolist()
        found: dict[str, Values] = {}
        for output, fields in self.outputs.items():
            names = [field.name for field in fields]
            values = zip(*(field.items(columns[field.column], chosen) for field in fields), strict=True)
            best = [dict(zip(names, one, strict=True)) for one in values]
            lists = [best[start:end] for start, end in zip([0, *ends], ends, strict=False)]
            found[output] = np.fromiter(lists, dtype=object, count=len(lists))
        return found

    def _descending(self, scores: Values) -> Values:
        """Gives numbers of which the least is that of the greatest score; a NaN comes last."""
        flat = (
            np.fromiter(itertools.chain.from_iterable(scores), self.dtype)
            if scores.dtype == object
            else scores.reshape(-1)
        )
        return np.asarray(-flat if flat.dtype.kind == "f" else ~flat)


def _lengths(lists: Values) -> Values:
    """Gives how many items each row's list has, ``[N]``."""
    if lists.dtype != object:
        return np.full(len(lists), lists.shape[1])
    return np.fromiter(map(len, lists), dtype=np.intp, count=len(lists))


def _misaligned(name: str, found: int, scores: str, wanted: int) -> NodeError:
    text = f"'{name}' has {found} items, but '{scores}' has {wanted}; each candidate needs one score"
    return NodeError("misaligned", text)
