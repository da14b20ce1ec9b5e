"""``labels``: the classes that a model or a vote tells apart, and whether members of a vote agree on them."""

from __future__ import annotations

import collections
from typing import Any

from beam_ensembles.errors import listed
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.types import INT64, STRING, Type


def check_labels(node: NodeView) -> Type | None:
    """Checks a node's ``labels`` (``bad_labels``).

    Returns:
        The type of a label, or None where the node has no labels or wrong ones.
    """
    labels = node.option("labels")
    if not isinstance(labels, list):
        return None
    if not _are_labels(labels):
        text = "labels are texts or whole numbers of 64 bits, all of one kind (quote texts)"
        node.problem("bad_labels", "labels", text)
        return None
    twice = next((label for label, count in collections.Counter(labels).items() if count > 1), None)
    if twice is not None:
        node.problem("bad_labels", "labels", f"the label {twice!r} stands there twice")
        return None
    return STRING if isinstance(labels[0], str) else INT64


def _are_labels(labels: list[Any]) -> bool:
    return bool(labels) and (all(isinstance(x, str) for x in labels) or all(_is_int64(x) for x in labels))


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def check_agreement(node: NodeView, *, order_matters: bool) -> None:
    """Compares the labels of a vote and of the models that it reads, where they say them (``label_mismatch``).

    Args:
        node: The vote.
        order_matters: Whether their order must be the same too: it is that of the probabilities.
    """
    agreed, owner = _labels_of(node.spec), "the vote"
    for index, column in enumerate(node.spec.columns):
        member = node.makers.get(column)
        found = _labels_of(member) if member is not None and member.kind == "model" else None
        if member is None or found is None:
            continue
        if agreed is None:
            agreed, owner = found, f"'{member.name}'"
        elif found != agreed and (order_matters or set(found) != set(agreed)):
            order = " in this order" if order_matters else ""
            theirs, ours = listed([str(one) for one in found]), listed([str(one) for one in agreed])
            text = f"the classes of '{member.name}' are {theirs}{order}, those of {owner} are {ours}"
            node.problem("label_mismatch", f"inputs[{index}]", text)


def _labels_of(node: NodeSpec) -> list[Any] | None:
    labels = node.options.get("labels")
    return labels if isinstance(labels, list) and _are_labels(labels) else None
