"""``labels``: the classes that a model or a vote tells apart, as its node lists them."""

from __future__ import annotations

from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.types import INT64, STRING, Type


def label_type(node: NodeView[LabelOptions]) -> Type | None:
    """Returns the type of a node's ``labels``, or None where it has none."""
    labels = node.options.labels
    return None if labels is None else STRING if isinstance(labels[0], str) else INT64
