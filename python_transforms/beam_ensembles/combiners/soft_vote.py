"""``soft_vote``: the class with the greatest average probability, as in scikit-learn's VotingClassifier."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beam_ensembles.combiners.members import Values, average, has_quorum, presence
from beam_ensembles.combiners.options import (
    VoteOptions,
    check_members,
    check_quorum,
    check_weights,
    weights_of,
)
from beam_ensembles.combiners.probabilities import check_refused, check_values
from beam_ensembles.combiners.vote_outputs import Ballot, ballot_meanings, label_array, settle_ballot
from beam_ensembles.graph.class_meanings import (
    LABELS,
    PLACES,
    UNKNOWN,
    Agreed,
    Classes,
    Meaning,
    check_vote,
    labels_of,
)
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView, valid_rows
from beam_ensembles.graph.labels import label_type
from beam_ensembles.graph.options import option
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.types import INT64, Type, dtype_of, row_shape

_TODO = "apply 'softmax' before, or allow any values with 'check_probabilities: false' on the vote"


class SoftVoteOptions(LabelOptions, VoteOptions):
    """What a soft vote takes."""

    labels: list[Any] | None = option(
        None,
        "The classes in the order of the probabilities.",
        shown="the members' classes where these are whole numbers, else their indices, from 0",
    )
    check_probabilities: bool = option(
        True, "Whether a row fails where a member's values are not from 0 to 1 or do not add up to 1."
    )


class SoftVoteKind(Kind[SoftVoteOptions]):
    """Averages the members' class probabilities; the first class of the greatest average wins."""

    kind = "combine"
    name = "soft_vote"
    summary = "The class with the greatest average probability over its members."
    takes = (
        "The members: columns of probabilities, one per class; classes in different orders are put into one."
    )
    gives = "label and confidence: the class of the greatest average, and that; probabilities: all averages."
    options = SoftVoteOptions

    def check(self, node: NodeView[SoftVoteOptions]) -> Mapping[str, Type | None]:
        """Checks that all members have one probability per class and that there are as many labels."""
        check_members(node)
        check_weights(node)
        check_quorum(node)
        classes = _classes(node)
        labels = node.options.labels
        label = label_type(node) if labels is not None or "labels" in node.wrong else INT64
        if label is not None and labels is not None and classes is not None and len(labels) != classes:
            text = f"{len(labels)} labels for {classes} probabilities; give one per class, in their order"
            node.problem("bad_labels", "labels", text)
        if node.options.check_probabilities:
            check_refused(node, _TODO)
        return settle_ballot(node, label, classes)

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """Compares the members' classes; the outputs are about the same ones."""
        own = labels_of(node.spec)
        agreed = check_vote(node, own)
        is_named = own is not None or _are_numbers(agreed)
        return ballot_meanings(node, LABELS if is_named else PLACES, agreed)

    def load(self, node: CheckedNode[SoftVoteOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        members, own = node.spec.columns, node.options.labels
        agreed = Agreed(own, node.meanings)
        orders = tuple(agreed.order(node.meanings.get(column, UNKNOWN)) for column in members)
        numbers = agreed.classes if _are_numbers(agreed.classes) else None
        labels = own or numbers or list(range(_probabilities(node.inputs[members[0]]) or 0))
        return SoftVote(
            members,
            weights_of(node),
            has_quorum(node),
            orders,
            label_array(labels),
            node.options.check_probabilities,
            Ballot.of(node),
        )


def _are_numbers(classes: Classes | None) -> bool:
    return classes is not None and not isinstance(classes[0], str)


def _classes(node: NodeView) -> int | None:
    """Returns how many classes the members have; reports those with none, or with another number."""
    classes = None
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is None:
            continue
        found = _probabilities(type_)
        if found is None:
            text = f"'{column}' is {type_}; a soft vote takes one probability per class, such as array<double>[10]"
            node.problem("type_mismatch", f"inputs[{index}]", text)
        elif classes is not None and found != classes:
            text = f"'{column}' has {found} probabilities, the members before it have {classes}"
            node.problem("type_mismatch", f"inputs[{index}]", text)
        else:
            classes = found
            _check_count(node, index, found)
    return classes


def _check_count(node: NodeView, index: int, classes: int) -> None:
    column = node.spec.columns[index]
    labels = node.meanings.get(column, UNKNOWN).classes
    if labels is not None and len(labels) != classes:
        text = f"'{node.makers[column].name}' has {len(labels)} labels, but '{column}' holds {classes} probabilities"
        node.problem("label_mismatch", f"inputs[{index}]", text)


def _probabilities(type_: Type) -> int | None:
    """Returns how many probabilities a row of a type has, or None where it has none."""
    dtype, shape = dtype_of(type_), row_shape(type_)
    return shape[0] if dtype is not None and dtype.kind == "f" and len(shape) == 1 else None


@dataclasses.dataclass(frozen=True, slots=True)
class SoftVote:
    """Averages as ``VotingClassifier.predict_proba`` does, so that values are equal.

    Attributes:
        members: The members' columns, each ``[N, k]``.
        weights: A weight each, or None.
        quorum: Whether some members may have no value on a row.
        orders: Which of a member's probabilities stand where in the vote; None where they are in its order.
        labels: The classes in the order of the vote's probabilities, ``[k]``.
        is_checked: Whether a row fails where a member's values are not probabilities.
        ballot: Writes the result.
    """

    members: tuple[str, ...]
    weights: list[float] | None
    quorum: bool
    orders: tuple[list[int] | None, ...]
    labels: Values
    is_checked: bool
    ballot: Ballot

    def __call__(self, columns: Columns) -> Columns:
        """Votes on each row.

        Raises:
            NodeError: ``not_probabilities``: a member's values are not.
        """
        if self.is_checked:
            for name in dict.fromkeys(self.members):
                check_values(columns[name], name, valid_rows(columns, name) if self.quorum else None, _TODO)
        values = [
            columns[name] if order is None else columns[name][:, order]
            for name, order in zip(self.members, self.orders, strict=True)
        ]
        if self.quorum:
            shares = average(values, self.weights, presence(columns, self.members))
        else:
            shares = _average(values, self.weights)
        winners = np.argmax(shares, axis=1)
        confidence = shares[np.arange(len(winners)), winners]
        return self.ballot.columns(
            {"label": self.labels[winners], "confidence": confidence, "probabilities": shares}
        )


def _average(values: Sequence[Values], weights: Sequence[float] | None) -> Values:
    """Returns what ``np.average(values, axis=0, weights=weights)`` does, to the last bit, without an array of them all.

    Of a single number numpy adds up in another order; here a row alone gets what it gets among others.
    """
    dtype = np.result_type(*values, *(() if weights is None else (np.float64,)))
    total = np.zeros(values[0].shape, dtype)
    for at, member in enumerate(values):
        total += member if weights is None else np.multiply(member, weights[at], dtype=dtype)
    total /= len(values) if weights is None else np.sum(weights, dtype=dtype)
    return total
