"""``median``, ``max`` and ``min`` of numbers or tensors, value by value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from beam_ensembles.combiners.members import Values, beside, check_exact, common_numbers, has_quorum, presence
from beam_ensembles.combiners.options import QuorumOptions, check_members, check_quorum
from beam_ensembles.graph.class_meanings import Meaning, check_positions, of_all_outputs
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import DOUBLE, Array, Type, dtype_of, row_shape

Pick = Callable[[Values, Values], Values]
"""Reduces the values of all members, ``[members, N, ...]``, to one; ``[members, N]`` says which members answered."""


class OrderKind(Kind[QuorumOptions]):
    """One of the members' values in their order; a NaN among them makes the answer NaN, as numpy has it.

    Args:
        name: What the kind and its port are called.
        summary: One sentence for people.
        pick: Takes the value.
        keeps_type: Whether the answer is of the members' own type, and no double.
    """

    kind = "combine"
    takes = "The members: columns of numbers, or of tensors of one shape."
    options = QuorumOptions

    def __init__(self, name: str, summary: str, pick: Pick, *, keeps_type: bool) -> None:
        self.name = name
        self.summary = summary
        self.gives = (
            f"{name}: {'a value as the members have them' if keeps_type else 'a double, or doubles'}."
        )
        self._pick, self._keeps_type = pick, keeps_type

    def check(self, node: NodeView[QuorumOptions]) -> Mapping[str, Type | None]:
        """Checks that all members are numbers of one shape."""
        check_members(node)
        check_quorum(node)
        found = common_numbers(node)
        if found is not None and not self._keeps_type:
            found = Array(DOUBLE, row_shape(found)) if row_shape(found) else DOUBLE
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [self.name]), found))

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """Compares the order of the members' classes, where they are scores; the outputs have the same."""
        return of_all_outputs(node.spec, check_positions(node))

    def load(self, node: CheckedNode[QuorumOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        return Picked(node.spec.columns, self._pick, has_quorum(node), node.outputs, self._keeps_type)


@dataclasses.dataclass(frozen=True, slots=True)
class Picked:
    """Picks one of the members' values for all rows at once.

    Attributes:
        members: The members' columns.
        pick: Takes the value.
        quorum: Whether some members may have no value on a row.
        outputs: The column to add, with its type.
        keeps_type: Whether the answer is a value of one of the members, which must not be rounded.
    """

    members: tuple[str, ...]
    pick: Pick
    quorum: bool
    outputs: Mapping[str, Type]
    keeps_type: bool

    def __call__(self, columns: Columns) -> Columns:
        """Takes the value of each row."""
        values = np.stack([columns[name] for name in self.members])
        present = presence(columns, self.members) if self.quorum else np.ones(values.shape[:2], np.bool_)
        if self.keeps_type:
            for name, there in zip(self.members, present, strict=True):
                check_exact(columns[name], there, values.dtype, name)
        found = self.pick(values, present)
        return {name: found.astype(dtype_of(type_), copy=False) for name, type_ in self.outputs.items()}


def greatest(values: Values, present: Values) -> Values:
    """Returns the greatest value of those that are there."""
    return np.asarray(_among(values, present, _lowest(values.dtype)).max(axis=0))


def least(values: Values, present: Values) -> Values:
    """Returns the least value of those that are there."""
    return np.asarray(_among(values, present, _highest(values.dtype)).min(axis=0))


def median(values: Values, present: Values) -> Values:
    """Returns the value in the middle, or the mean of the two in the middle, as ``numpy.median`` does."""
    numbers = values.astype(np.float64)
    ordered = np.sort(_among(numbers, present, np.inf), axis=0)  # what is not there comes last
    count = present.sum(axis=0)
    low, high = (_at(ordered, place) for place in ((count - 1) // 2, count // 2))
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.where(beside(count % 2 == 1, low), low, (low + high) / 2)
    missing = np.isnan(_among(numbers, present, 0)).any(axis=0)
    return np.asarray(np.where(missing, np.nan, found))


def _at(ordered: Values, places: Values) -> Values:
    """Returns the value of each row at its place of the first dimension."""
    return np.asarray(np.take_along_axis(ordered, beside(places, ordered[0])[None], axis=0)[0])


def _among(values: Values, present: Values, other: float) -> Values:
    """Returns the values with another one where there is none."""
    return values if present.all() else np.where(beside(present, values), values, values.dtype.type(other))


def _lowest(dtype: np.dtype) -> float:
    return -np.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def _highest(dtype: np.dtype) -> float:
    return np.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)


MEDIAN = OrderKind("median", "The median of numbers or tensors, value by value.", median, keeps_type=False)
MAX = OrderKind("max", "The greatest of numbers or tensors, value by value.", greatest, keeps_type=True)
MIN = OrderKind("min", "The least of numbers or tensors, value by value.", least, keeps_type=True)
