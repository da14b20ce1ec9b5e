"""What combiners share: a list of members, their weights, and how many of them must have a value."""

from __future__ import annotations

import math
import sys
from typing import Any

from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.options import Options, option


class WeightOptions(Options):
    """How much each member counts."""

    weights: list[Any] | None = option(
        None, "One number per member, not negative; all count the same without it."
    )


class QuorumOptions(Options):
    """How many members are enough.

    A node with a quorum gets rows on which some members have no value; ``members.presence`` says which. What the
    columns hold there means nothing.
    """

    quorum: int | None = option(
        None, "How many members must have a value; weights count among those that do.", shown="all"
    )


class VoteOptions(QuorumOptions, WeightOptions):
    """Both."""


def _weights(options: Options) -> list[Any] | None:
    return options.weights if isinstance(options, WeightOptions) else None


def check_members(node: NodeView) -> None:
    """Reports members that are given as named arguments."""
    inputs = node.spec.inputs
    if inputs is not None and inputs.ports is not None:
        node.problem(
            "unknown_port",
            inputs.path(0),
            f"{node.spec.target} takes a list of members: [{', '.join(inputs.columns)}]",
        )


def check_weights(node: NodeView) -> None:
    """Reports weights of the wrong count, kind, sign or sum (``bad_weights``)."""
    weights = _weights(node.options)
    if weights is None:
        return
    members = len(node.spec.columns)
    wrong = [weight for weight in weights if not _is_weight(weight)]
    if wrong:
        text = f"{wrong[0]!r} is not a weight: a weight is a number of at least 0"
    elif len(weights) != members:
        text = f"{len(weights)} weights for {members} members; give one per member"
    elif not 0 < sum(map(float, weights)) < math.inf:
        text = f"the weights add up to {sum(map(float, weights)):g}; that must be more than 0 and finite"
    else:
        return
    node.problem("bad_weights", "weights", text)


def _is_weight(weight: Any) -> bool:
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        return False
    return 0 <= weight <= sys.float_info.max


def check_quorum(node: NodeView[QuorumOptions]) -> None:
    """Reports a quorum of no or too many members (``bad_value``), or one that members of no weight can make up."""
    quorum, members = node.options.quorum, len(node.spec.columns)
    if quorum is None:
        return
    if not 1 <= quorum <= members:
        text = f"'quorum' cannot be {quorum}: {node.spec.target} has {members} members here (allowed: 1 to {members})"
        node.problem("bad_value", "quorum", text)
        return
    weights = _weights(node.options)
    if weights is not None and (idle := sum(weight == 0 for weight in weights)) >= quorum:
        text = (
            f"members of weight 0 (there are {idle}) could make up the quorum of {quorum} alone, and then nothing "
            f"counts; ask for a 'quorum' of at least {idle + 1}, or leave these members out"
        )
        node.problem("bad_weights", "weights", text)


def weights_of(node: CheckedNode) -> list[float] | None:
    """Returns a checked node's weights, or None where all members count the same."""
    weights = _weights(node.options)
    return None if weights is None else [float(weight) for weight in weights]
