"""The options that combiners share: the weights of the members and the labels of the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from beam_ensembles.graph.kinds import CheckedNode, NodeView, Option
from beam_ensembles.types import INT64, STRING, Type

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


def check_labels(node: NodeView) -> Type | None:
    """Checks a node's ``labels`` (``bad_labels``).

    Returns:
        The type of a label, or None where the node has no labels or wrong ones.
    """
    labels = node.option("labels")
    if not isinstance(labels, list):
        return None
    is_text = all(isinstance(label, str) for label in labels)
    if not labels or not (is_text or all(isinstance(x, int) and not isinstance(x, bool) for x in labels)):
        node.problem(
            "bad_labels", "labels", "labels are texts or whole numbers, all of one kind (quote texts)"
        )
        return None
    twice = _first_twice(labels)
    if twice is not None:
        node.problem("bad_labels", "labels", f"the label {twice!r} stands there twice")
        return None
    return STRING if is_text else INT64


def _first_twice(labels: Sequence[Any]) -> Any | None:
    return next((label for index, label in enumerate(labels) if label in labels[:index]), None)
