"""What an ensemble answers with other cut-offs: from recorded answers, without a call of a model.

The nodes run as in a pipeline (``NodeStep``: conditions, nulls, failures); in the place of a model stands what it has
answered already.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.evaluation.recombining import silent_meter
from beam_ensembles.execution.node_records import NodeRecorder
from beam_ensembles.execution.node_steps import NodeStep
from beam_ensembles.graph.kinds import CheckedNode, Columns, validity
from beam_ensembles.spec.model import OnError
from beam_ensembles.tuning.cut_offs import Expressions, with_parameters
from beam_ensembles.tuning.recording import FIXED, LIVE, Recording
from beam_ensembles.types import INT64

_PLACE: Final = "place in the recording"
"""The column of each row's place in the recording; no other column can have this name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Replayed:
    """What became of the recorded rows.

    Attributes:
        columns: The columns of the rows that were answered.
        places: Which of the recorded rows these are, in order.
        ran: On which rows each node ran, ``[N]``, by the node's name.
    """

    columns: Columns
    places: np.ndarray
    ran: Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """A model's answers of all recorded rows, as a member that is called with some of them."""

    columns: Columns

    def __call__(self, columns: Columns) -> Columns:
        places = columns[_PLACE]
        return {name: values[places] for name, values in self.columns.items()}


class Replay:
    """Answers recorded rows with any values of the parameters.

    Args:
        nodes: The nodes in the order in which they run, with what the loaded models say of their columns.
        roles: What each node is while the parameters change.
        expressions: The expressions of the nodes, with ``${name}`` in them.
        recording: The recorded rows.
    """

    def __init__(
        self,
        nodes: Sequence[CheckedNode],
        roles: Mapping[str, str],
        expressions: Mapping[str, Expressions],
        recording: Recording,
    ) -> None:
        self._nodes = [node for node in nodes if roles[node.spec.name] != FIXED]
        self._roles, self._expressions = roles, expressions
        self._count = len(recording.rows)
        self._steps: dict[str, NodeStep] = {}
        own = {column for node in self._nodes for column in node.outputs}
        own |= {validity(column) for column in own}
        self._fixed = {name: values for name, values in recording.columns.items() if name not in own}
        self._kept = {
            node.spec.name: _Kept(
                {
                    name: values
                    for column in node.outputs
                    for name in (column, validity(column))
                    if (values := recording.columns.get(name)) is not None
                }
            )
            for node in self._nodes
        }

    def __call__(self, parameters: Mapping[str, str]) -> Replayed:
        """Returns what the rows are answered with these values of the parameters."""
        batch = ColumnBatch(np.arange(self._count), {})
        batch.add({**self._fixed, _PLACE: np.arange(self._count)})
        batch.watch = recorder = NodeRecorder()
        for node in self._nodes:
            if not len(batch):
                break
            self._step(node, parameters).run(batch)
        ran = {}
        for record in recorder.records:
            which = np.zeros(self._count, np.bool_)
            which[record.rows[record.runs]] = True
            ran[record.name] = which
        return Replayed(batch.columns, batch.rows, ran)

    def _step(self, node: CheckedNode, parameters: Mapping[str, str]) -> NodeStep:
        name, own = node.spec.name, self._expressions[node.spec.name]
        if name in self._steps:
            return self._steps[name]
        when, options = with_parameters(node.spec.options, own, parameters)
        policy = OnError() if node.on_error.action == "fail" else node.on_error
        spec = dataclasses.replace(node.spec, when=when, options=options)
        node = dataclasses.replace(node, spec=spec, on_error=policy, compared=())
        if self._roles[name] == LIVE:
            step = NodeStep(node, node.kind.load(node), silent_meter(node))
        else:
            nullable = {column: type_ for column, type_ in node.inputs.items() if type_.nullable}
            node = dataclasses.replace(node, inputs={**nullable, _PLACE: INT64})
            step = NodeStep(node, self._kept[name], silent_meter(node))
        if not own.has_parameters:
            self._steps[name] = step
        return step
