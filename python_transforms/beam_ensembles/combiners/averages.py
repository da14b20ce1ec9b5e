"""``mean`` and ``weighted_mean``: the average of numbers or tensors, as in scikit-learn's VotingRegressor."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.combiners.members import average, common_numbers, has_quorum, presence
from beam_ensembles.combiners.options import (
    QuorumOptions,
    VoteOptions,
    check_members,
    check_quorum,
    check_weights,
    weights_of,
)
from beam_ensembles.graph.class_meanings import Meaning, check_positions, of_all_outputs
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import DOUBLE, Array, Type, dtype_of, row_shape

PORT = "mean"


class WeightedMeanOptions(VoteOptions):
    """What the weighted mean takes."""

    weights: list[Any] = option([], "One number per member, not negative.", required=True)


class MeanKind(Kind[QuorumOptions]):
    """The average of its members, each counting the same or by its weight."""

    kind = "combine"
    takes = "The members: columns of numbers, or of tensors of one shape."
    gives = "mean: a double, or a tensor of doubles of that shape."

    def __init__(self, name: str, summary: str, options: type[QuorumOptions]) -> None:
        self.name = name
        self.summary = summary
        self.options = options

    def check(self, node: NodeView[QuorumOptions]) -> Mapping[str, Type | None]:
        """Checks that all members are numbers of one shape; the average is a double of that shape."""
        check_members(node)
        check_weights(node)
        check_quorum(node)
        found = common_numbers(node)
        if found is not None:
            found = Array(DOUBLE, row_shape(found)) if row_shape(found) else DOUBLE
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), found))

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """Compares the order of the members' classes, where they are scores; the outputs have the same."""
        return of_all_outputs(node.spec, check_positions(node))

    def load(self, node: CheckedNode[QuorumOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        return Average(node.spec.columns, weights_of(node), has_quorum(node), node.outputs)


@dataclasses.dataclass(frozen=True, slots=True)
class Average:
    """Averages its members in the order of operations of ``VotingRegressor.predict``, so that values are
    equal.

    Attributes:
        members: The members' columns.
        weights: A weight each, or None.
        quorum: Whether some members may have no value on a row.
        outputs: The column to add, with its type.
    """

    members: tuple[str, ...]
    weights: list[float] | None
    quorum: bool
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Averages over the members."""
        values = [columns[name] for name in self.members]
        if self.quorum:
            found = average(values, self.weights, presence(columns, self.members))
        else:
            found = np.average(np.moveaxis(np.asarray(values), 0, -1), axis=-1, weights=self.weights)
        return {name: found.astype(dtype_of(type_), copy=False) for name, type_ in self.outputs.items()}


MEAN = MeanKind("mean", "The average of numbers or tensors of one shape.", QuorumOptions)
WEIGHTED_MEAN = MeanKind(
    "weighted_mean",
    "The weighted average of numbers or tensors of one shape.",
    WeightedMeanOptions,
)
