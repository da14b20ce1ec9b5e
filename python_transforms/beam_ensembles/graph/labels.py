"""``labels``: the classes that a model or a vote tells apart, and whether members of a vote agree on them."""

from __future__ import annotations

from collections.abc import Sequence
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


def check_agreement(node: NodeView, *, order_matters: bool) -> None:
    """Compares the labels of a vote and of the models that it reads, where these say theirs (``label_mismatch``).

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
    return labels if isinstance(labels, list) else None
