"""``hard_vote``: the label with the most votes, as scikit-learn's VotingClassifier counts them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.combiners.ballots import Ballot, label_array, settle_ballot
from beam_ensembles.combiners.options import WEIGHTS, check_members, check_weights, weights_of
from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView, Option
from beam_ensembles.graph.labels import check_agreement, check_labels
from beam_ensembles.types import INT64, STRING, Scalar, Type


class HardVoteKind:
    """Counts the members' labels; among those with the most votes the first wins.

    The first is the lowest label, as in scikit-learn, or the first of ``labels`` where the node has them.
    """

    kind = "combine"
    name = "hard_vote"
    summary = "The label that most of its members gave."
    takes = "The members: columns of labels."
    gives = (
        "label and confidence: the label with the most votes, its share of them; probabilities: all shares."
    )
    extra: str | None = None
    modules: tuple[str, ...] = ()
    takes_nulls = False
    options: tuple[Option, ...] = (
        WEIGHTS,
        Option(
            "labels",
            "list",
            "All labels that there can be; the first of equals wins.",
            default="sorted as found",
        ),
    )

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks that all members give labels of one kind."""
        check_members(node)
        check_weights(node)
        label, declared = _label_type(node), check_labels(node)
        if label is not None and declared is not None and label != declared:
            text = f"the labels are of type {declared}, but the members give {label}"
            node.problem("bad_labels", "labels", text)
        check_agreement(node, order_matters=False)
        labels = node.option("labels")
        self._check_probabilities(node, labels)
        return settle_ballot(node, label or declared, len(labels) if isinstance(labels, list) else None)

    def _check_probabilities(self, node: NodeView, labels: Any) -> None:
        for output in node.spec.outputs:
            if labels is None and "probabilities" in (output.port, None if output.port else output.column):
                text = "the share of every label is known only where the node lists all of them in 'labels'"
                node.problem("bad_labels", f"outputs.{output.column}", text)

    def load(self, node: CheckedNode) -> Member:
        """Nothing is loaded: gives the function itself."""
        labels = node.spec.options.get("labels")
        return HardVote(node.spec.columns, weights_of(node), labels, Ballot.of(node))


def _label_type(node: NodeView) -> Type | None:
    """Gives the members' type of label, ``string`` or ``int64`` for any whole numbers."""
    found: Type | None = None
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is None:
            continue
        label = _as_label(type_)
        if label is None:
            text = f"'{column}' is {type_}; a hard vote takes one label a row: a text or a whole number"
            node.problem("type_mismatch", f"inputs[{index}]", text)
        elif found is not None and label != found:
            text = f"'{column}' is {type_}, the members before it give labels of type {found}"
            node.problem("type_mismatch", f"inputs[{index}]", text)
        else:
            found = label
    return found


def _as_label(type_: Type) -> Type | None:
    if not isinstance(type_, Scalar):
        return None
    if type_.name == "string":
        return STRING
    return INT64 if type_.name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32") else None


@dataclasses.dataclass(frozen=True, slots=True)
class HardVote:
    """Counts as ``np.bincount`` does in ``VotingClassifier.predict``, for all rows at once.

    Attributes:
        members: The members' columns, each ``[N]``.
        weights: A weight each, or None.
        labels: All labels in the order in which they win a tie, or None: those found, sorted.
        ballot: Writes the result.
    """

    members: tuple[str, ...]
    weights: list[float] | None
    labels: list[Any] | None
    ballot: Ballot

    def __call__(self, columns: Columns) -> Columns:
        """Votes on each row."""
        votes = [columns[name].tolist() for name in self.members]
        labels = self.labels if self.labels is not None else sorted(set().union(*votes))
        index = {label: at for at, label in enumerate(labels)}
        rows = len(votes[0])
        shares = np.zeros((rows, len(labels)))
        each = self.weights or [1.0] * len(votes)
        for weight, vote in zip(each, votes, strict=True):
            shares[np.arange(rows), _codes(vote, index)] += weight
        return self.ballot.columns(shares / sum(each), label_array(labels))


def _codes(vote: list[Any], index: Mapping[Any, int]) -> np.ndarray[Any, Any]:
    try:
        return np.fromiter(map(index.__getitem__, vote), dtype=np.intp, count=len(vote))
    except KeyError as exc:
        allowed = listed([repr(label) for label in index])
        raise NodeError(
            "unknown_label", f"a member gave the label {exc.args[0]!r}; 'labels' are {allowed}"
        ) from exc
