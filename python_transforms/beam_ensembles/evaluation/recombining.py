"""Combines the members' columns anew, without a call of a model: without one of them, or with probabilities."""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.evaluation.subjects import PROBABILITIES, are_votes
from beam_ensembles.execution.node_metrics import NodeMeter, Update
from beam_ensembles.execution.node_records import NodeRecord
from beam_ensembles.execution.node_steps import NodeStep
from beam_ensembles.graph.class_meanings import UNKNOWN, Agreed, labels_of
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.spec.model import OnError, OutputSpec
from beam_ensembles.types import DOUBLE, Array, Type, row_shape

_VOTE: Final = "soft_vote"


class Combiner:
    """A combiner as it is, but for what was changed of its node.

    Args:
        node: The changed node, with what the loaded models say of its columns.
    """

    def __init__(self, node: CheckedNode) -> None:
        node = dataclasses.replace(node, on_error=OnError("fail_row"), compared=())
        self._step = NodeStep(node, node.kind.load(node), silent_meter(node))

    def again(self, record: NodeRecord) -> tuple[np.ndarray, Columns]:
        """Returns the rows that it answers and its columns of them, from what it read."""
        batch = ColumnBatch(record.rows, dict(record.read))
        self._step.run(batch)
        made = self._step.node.outputs
        return batch.rows, batch.read(made) if len(batch) and set(made) <= set(batch.columns) else {}


def silent_meter(node: CheckedNode) -> NodeMeter:
    """Returns what counts a node's work for nobody."""
    return NodeMeter(node.ensemble, node.spec.name, _forget)


def _forget(update: Update) -> None:
    pass


def can_be_left_out(node: CheckedNode) -> bool:
    """Whether a combiner means something without one of its members."""
    inputs = node.spec.inputs
    is_list = inputs is not None and inputs.ports is None and not inputs.passed
    return are_votes(node) and is_list and len(node.inputs) > 1


def without(node: CheckedNode, member: str) -> Combiner | None:
    """Returns a combiner without a member; None where nothing of weight is left."""
    inputs = node.spec.inputs
    if inputs is None:
        return None
    kept = [at for at, column in enumerate(inputs.columns) if column != member]
    options = dict(node.spec.options)
    weights = options.get("weights")
    if isinstance(weights, list):
        options["weights"] = [weights[at] for at in kept]
        if not any(options["weights"]):
            return None
    if "quorum" in options:
        options["quorum"] = min(options["quorum"], len(kept))
    own = labels_of(node.spec)
    agreed = Agreed(own, node.meanings).classes
    if node.spec.target == _VOTE and own is None and agreed is not None and not isinstance(agreed[0], str):
        options["labels"] = list(agreed)  # the member that says the classes may be the one that is left out
    columns = tuple(inputs.columns[at] for at in kept)
    spec = dataclasses.replace(
        node.spec, inputs=dataclasses.replace(inputs, columns=columns, places=()), options=options
    )
    meanings = {name: one for name, one in node.meanings.items() if name != member}
    types = {name: type_ for name, type_ in node.inputs.items() if name != member}
    return Combiner(with_probabilities(dataclasses.replace(node, spec=spec, inputs=types, meanings=meanings)))


def vote_classes(node: CheckedNode) -> tuple[object, ...] | None:
    """Returns the classes of a soft vote in the order of its probabilities; None for other nodes."""
    if node.spec.target != _VOTE or node.spec.kind != "combine":
        return None
    own = labels_of(node.spec)
    if own is not None:
        return tuple(own)
    agreed = Agreed(None, {name: node.meanings.get(name, UNKNOWN) for name in node.spec.columns}).classes
    width = row_shape(node.inputs[node.spec.columns[0]].required())[0]
    return tuple(agreed) if agreed is not None else tuple(range(width))


def with_probabilities(node: CheckedNode) -> CheckedNode:
    """Returns a soft vote that also gives its probabilities, under a name that no column has; other nodes unchanged."""
    classes = vote_classes(node)
    if classes is None:
        return node
    column = PROBABILITIES + node.spec.name
    output = OutputSpec(column, "probabilities")
    types: dict[str, Type] = {**node.outputs, column: Array(DOUBLE, (len(classes),))}
    spec = dataclasses.replace(node.spec, outputs=(*node.spec.outputs, output))
    return dataclasses.replace(node, spec=spec, outputs=types)
