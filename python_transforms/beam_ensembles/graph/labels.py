"""``labels``: the classes that a model or a vote tells apart, as its node lists them."""

from __future__ import annotations

import collections

from beam_ensembles.graph.class_meanings import are_labels
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.types import INT64, STRING, Type


def check_labels(node: NodeView[LabelOptions]) -> Type | None:
    """Checks a node's ``labels`` (``bad_labels``).

    Returns:
        The type of a label, or None where the node has no labels or wrong ones.
    """
    labels = node.options.labels
    if labels is None:
        return None
    if not are_labels(labels):
        text = "labels are texts or whole numbers of 64 bits, all of one kind (quote texts)"
        node.problem("bad_labels", "labels", text)
        return None
    twice = next((label for label, count in collections.Counter(labels).items() if count > 1), None)
    if twice is not None:
        node.problem("bad_labels", "labels", f"the label {twice!r} occurs twice")
        return None
    return STRING if isinstance(labels[0], str) else INT64
