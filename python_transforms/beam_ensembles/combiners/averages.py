"""``mean`` and ``weighted_mean``: the average of numbers or tensors, as in scikit-learn's VotingRegressor."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from beam_ensembles.combiners.options import WEIGHTS, check_members, check_weights, weights_of
from beam_ensembles.graph.answers import check_ports, settle
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView, Option
from beam_ensembles.types import DOUBLE, Array, Type, dtype_of, row_shape

PORT = "mean"


class MeanKind:
    """The average of its members, each counting the same or by its weight."""

    kind = "combine"
    takes = "The members: columns of numbers, or of tensors of one shape."
    gives = "mean: a double, or a tensor of doubles of that shape."
    extra: str | None = None
    modules: tuple[str, ...] = ()
    takes_nulls = False

    def __init__(self, name: str, summary: str, options: tuple[Option, ...]) -> None:
        self.name = name
        self.summary = summary
        self.options = options

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks that all members are numbers of one shape; the average is a double of that shape."""
        check_members(node)
        check_weights(node)
        average = _average_type(node)
        ports = check_ports(node, [PORT])
        return settle(node, "type_mismatch", dict.fromkeys(ports, average))

    def load(self, node: CheckedNode) -> Member:
        """Nothing is loaded: gives the function itself."""
        return Average(node.spec.columns, weights_of(node), node.outputs)


def _average_type(node: NodeView) -> Type | None:
    found: Type | None = None
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is None:
            continue
        dtype, place = dtype_of(type_), f"inputs[{index}]"
        if dtype is None or dtype.kind not in "fiu":
            node.problem(
                "type_mismatch", place, f"'{column}' is {type_}; {node.spec.target} takes numbers or tensors"
            )
        elif found is not None and row_shape(type_) != row_shape(found):
            node.problem(
                "type_mismatch", place, f"'{column}' is {type_}, the members before it are like {found}"
            )
        else:
            found = Array(DOUBLE, row_shape(type_)) if row_shape(type_) else DOUBLE
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Average:
    """Averages its members in the order of operations of ``VotingRegressor.predict``, so that values are
    equal.

    Attributes:
        members: The members' columns.
        weights: A weight each, or None.
        outputs: The column to add, with its type.
    """

    members: tuple[str, ...]
    weights: list[float] | None
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Averages over the members."""
        stacked = np.asarray([columns[name] for name in self.members])
        average = np.average(np.moveaxis(stacked, 0, -1), axis=-1, weights=self.weights)
        return {name: average.astype(dtype_of(type_), copy=False) for name, type_ in self.outputs.items()}


MEAN = MeanKind("mean", "The average of numbers or tensors of one shape.", ())
WEIGHTED_MEAN = MeanKind(
    "weighted_mean",
    "The weighted average of numbers or tensors of one shape.",
    (dataclasses.replace(WEIGHTS, description="One number a member, not negative.", required=True),),
)
