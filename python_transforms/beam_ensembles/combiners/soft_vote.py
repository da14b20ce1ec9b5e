"""``soft_vote``: the class with the greatest average probability, as in scikit-learn's VotingClassifier."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.combiners.ballots import Ballot, label_array, settle_ballot
from beam_ensembles.combiners.options import WEIGHTS, check_members, check_weights, weights_of
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView, Option
from beam_ensembles.graph.labels import check_agreement, check_labels
from beam_ensembles.types import INT64, Type, dtype_of, row_shape


class SoftVoteKind:
    """Averages the members' class probabilities; the first class of the greatest average wins."""

    kind = "combine"
    name = "soft_vote"
    summary = "The class with the greatest average probability over its members."
    takes = "The members: columns of probabilities, one a class, in the same order."
    gives = "label and confidence: the class of the greatest average, and that; probabilities: all averages."
    extra: str | None = None
    modules: tuple[str, ...] = ()
    takes_nulls = False
    options: tuple[Option, ...] = (
        WEIGHTS,
        Option(
            "labels",
            "list",
            "The classes in the order of the probabilities.",
            default="their indices, from 0",
        ),
    )

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks that all members have one probability a class and that there are as many labels."""
        check_members(node)
        check_weights(node)
        classes = _classes(node)
        label = check_labels(node) if node.option("labels") is not None else INT64
        labels = node.option("labels")
        if label is not None and isinstance(labels, list) and classes is not None and len(labels) != classes:
            text = f"{len(labels)} labels for {classes} probabilities; give one a class, in their order"
            node.problem("bad_labels", "labels", text)
        check_agreement(node, order_matters=True)
        return settle_ballot(node, label, classes)

    def load(self, node: CheckedNode) -> Member:
        """Nothing is loaded: gives the function itself."""
        members = node.spec.columns
        labels = node.spec.options.get("labels") or list(range(_probabilities(node.inputs[members[0]]) or 0))
        return SoftVote(members, weights_of(node), label_array(labels), Ballot.of(node))


def _classes(node: NodeView) -> int | None:
    """Gives how many classes the members have; reports those with none, or with another number."""
    classes: int | None = None
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is None:
            continue
        found = _probabilities(type_)
        if found is None:
            text = (
                f"'{column}' is {type_}; a soft vote takes one probability a class, such as array<double>[10]"
            )
            node.problem("type_mismatch", f"inputs[{index}]", text)
        elif classes is not None and found != classes:
            text = f"'{column}' has {found} probabilities, the members before it have {classes}"
            node.problem("type_mismatch", f"inputs[{index}]", text)
        else:
            classes = found
    return classes


def _probabilities(type_: Type) -> int | None:
    """Gives how many probabilities a row of a type has, or None where it has none."""
    dtype, shape = dtype_of(type_), row_shape(type_)
    return shape[0] if dtype is not None and dtype.kind == "f" and len(shape) == 1 else None


@dataclasses.dataclass(frozen=True, slots=True)
class SoftVote:
    """Averages as ``VotingClassifier.predict_proba`` does, so that values are equal.

    Attributes:
        members: The members' columns, each ``[N, k]``.
        weights: A weight each, or None.
        labels: The classes in the order of the probabilities.
        ballot: Writes the result.
    """

    members: tuple[str, ...]
    weights: list[float] | None
    labels: np.ndarray[Any, Any]
    ballot: Ballot

    def __call__(self, columns: Columns) -> Columns:
        """Votes on each row."""
        stacked = np.asarray([columns[name] for name in self.members])
        return self.ballot.columns(np.average(stacked, axis=0, weights=self.weights), self.labels)
