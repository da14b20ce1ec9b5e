"""``hard_vote``: the label with the most votes, as scikit-learn's VotingClassifier counts them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from beam_ensembles.combiners.members import Values, has_quorum, presence
from beam_ensembles.combiners.options import (
    VoteOptions,
    check_members,
    check_quorum,
    check_weights,
    weights_of,
)
from beam_ensembles.combiners.vote_counts import Tally, common_label
from beam_ensembles.combiners.vote_outputs import Ballot, ballot_meanings, label_array, settle_ballot
from beam_ensembles.graph.class_meanings import LABELS, Meaning, check_given_labels, labels_of
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.labels import label_type
from beam_ensembles.graph.options import option
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.types import Type


class HardVoteOptions(LabelOptions, VoteOptions):
    """What a hard vote takes."""

    labels: list[Any] | None = option(
        None, "All labels that there can be; the first of equals wins.", shown="sorted as found"
    )


class HardVoteKind(Kind[HardVoteOptions]):
    """Counts the members' labels; among those with the most votes the first wins.

    The first is the lowest label, as in scikit-learn, or the first of ``labels`` where the node has them.
    """

    kind = "combine"
    name = "hard_vote"
    summary = "The label that most of its members returned."
    takes = "The members: columns of labels."
    gives = (
        "label and confidence: the label with the most votes, its share of them; probabilities: all shares."
    )
    options = HardVoteOptions

    def check(self, node: NodeView[HardVoteOptions]) -> Mapping[str, Type | None]:
        """Checks that all members give labels of one kind."""
        check_members(node)
        check_weights(node)
        check_quorum(node)
        label, declared = common_label(node), label_type(node)
        if label is not None and declared is not None and label != declared:
            text = f"the labels are of type {declared}, but the members give {label}"
            node.problem("bad_labels", "labels", text)
        labels = node.options.labels
        self._check_probabilities(node, labels)
        return settle_ballot(node, label or declared, None if labels is None else len(labels))

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """Compares the members' classes; the outputs are about the node's labels."""
        labels = labels_of(node.spec)
        check_given_labels(node, labels)
        return ballot_meanings(node, LABELS, None if labels is None else tuple(labels))

    def _check_probabilities(self, node: NodeView, labels: Any) -> None:
        for output in node.spec.outputs:
            if labels is None and "probabilities" in (output.port, None if output.port else output.column):
                text = "the share of every label is known only where the node lists all of them in 'labels'"
                node.problem("bad_labels", f"outputs.{output.column}", text)

    def load(self, node: CheckedNode[HardVoteOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        labels = node.options.labels
        known = None if labels is None else label_array(labels)
        return HardVote(node.spec.columns, weights_of(node), has_quorum(node), known, Ballot.of(node))


@dataclasses.dataclass(frozen=True, slots=True)
class HardVote:
    """Counts as ``np.bincount`` does in ``VotingClassifier.predict``, for all rows at once.

    Attributes:
        members: The members' columns, each ``[N]``.
        weights: A weight each, or None.
        quorum: Whether some members may have no value on a row.
        labels: All labels in the order in which they win a tie, or None: those found, sorted.
        ballot: Writes the result.
    """

    members: tuple[str, ...]
    weights: list[float] | None
    quorum: bool
    labels: Values | None
    ballot: Ballot

    def __call__(self, columns: Columns) -> Columns:
        """Votes on each row."""
        present = presence(columns, self.members) if self.quorum else None
        votes = [columns[name] for name in self.members]
        tally = Tally.of(votes, self.labels, self.weights, present)
        label, confidence = tally.winners()
        given = {"label": label, "confidence": confidence}
        if self.ballot.gives("probabilities"):
            given["probabilities"] = tally.shares()
        return self.ballot.columns(given)
