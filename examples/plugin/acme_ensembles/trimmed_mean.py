"""``combine: acme_trimmed_mean``: the mean without the least and the greatest members."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from beam_ensembles.combiners.members import common_numbers
from beam_ensembles.combiners.options import check_members
from beam_ensembles.graph.class_meanings import Meaning, check_positions, of_all_outputs
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import DOUBLE, Type, row_shape


class TrimmedMeanOptions(Options):
    """The keys that its nodes take."""

    drop: int = option(1, "How many members to leave out at each end.")


class TrimmedMeanKind(Kind[TrimmedMeanOptions]):
    """The mean of the members in the middle, row by row."""

    kind = "combine"
    name = "acme_trimmed_mean"
    summary = "The mean without the least and the greatest members of each row."
    takes = "The members: columns of numbers."
    gives = "mean: a double."
    options = TrimmedMeanOptions

    def check(self, node: NodeView[TrimmedMeanOptions]) -> Mapping[str, Type | None]:
        """Checks that the members are numbers, and that some are left."""
        check_members(node)
        members, drop = len(node.spec.columns), node.options.drop
        if not 0 <= 2 * drop < members:
            text = f"'drop' is {drop}, which leaves none of {members} members (allowed: 0 to {(members - 1) // 2})"
            node.problem("bad_value", "drop", text)
        found = common_numbers(node)
        if found is not None and row_shape(found):
            node.problem(
                "type_mismatch", "inputs", f"the members are {found}; this mean takes one number per row"
            )
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, ["mean"]), DOUBLE))

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """Compares the order of the members' classes, where they are positions of classes."""
        return of_all_outputs(node.spec, check_positions(node))

    def load(self, node: CheckedNode[TrimmedMeanOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        return TrimmedMean(node.spec.columns, node.options.drop, tuple(node.outputs))


@dataclasses.dataclass(frozen=True, slots=True)
class TrimmedMean:
    """Averages all rows of a batch at once."""

    members: tuple[str, ...]
    drop: int
    outputs: tuple[str, ...]

    def __call__(self, columns: Columns) -> Columns:
        """Sorts the members of each row and averages those in the middle."""
        values = np.sort(np.stack([columns[name] for name in self.members]).astype(np.float64), axis=0)
        mean = values[self.drop : len(values) - self.drop].mean(axis=0)
        return dict.fromkeys(self.outputs, mean)
