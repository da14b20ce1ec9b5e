"""What combiners share: a list of members, and their weights."""

from __future__ import annotations

import math
from typing import Any, Final

from beam_ensembles.graph.kinds import CheckedNode, NodeView, Option

WEIGHTS: Final = Option(
    "weights", "list", "One number a member, not negative; all count the same without it."
)


def check_members(node: NodeView) -> None:
    """Reports members that are given as named arguments."""
    inputs = node.spec.inputs
    if inputs is not None and inputs.ports is not None:
        node.problem(
            "unknown_port",
            inputs.path(0),
            f"{node.spec.target} takes a list of members: [{', '.join(inputs.columns)}]",
        )


def check_weights(node: NodeView, *, required: bool = False) -> None:
    """Reports weights of the wrong count, kind, sign or sum (``bad_weights``)."""
    weights = node.option("weights")
    if not isinstance(weights, list):
        return
    members = len(node.spec.columns)
    wrong = [weight for weight in weights if not _is_weight(weight)]
    if wrong:
        node.problem(
            "bad_weights", "weights", f"{wrong[0]!r} is no weight: a weight is a number of at least 0"
        )
    elif len(weights) != members:
        node.problem(
            "bad_weights", "weights", f"{len(weights)} weights for {members} members; give one a member"
        )
    elif not sum(weights) > 0:
        node.problem("bad_weights", "weights", "the weights add up to 0; at least one must be greater")


def _is_weight(weight: Any) -> bool:
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    return is_number and math.isfinite(weight) and weight >= 0


def weights_of(node: CheckedNode) -> list[float] | None:
    """Gives a checked node's weights, or None where all members count the same."""
    weights: list[float] | None = node.spec.options.get("weights")
    return weights
