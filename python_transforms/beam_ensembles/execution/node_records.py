"""Every node's own account of the rows of a batch: what it read, on which rows it ran, where it failed, what it added.

A batch's columns end as the outputs of the ensemble; records keep those of the nodes in between, also of rows that
have left. They come from the run itself (``ColumnBatch.watch``), so they agree with what the ensemble returns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns

ANSWERED: Final = "answered"
SKIPPED: Final = "skipped"
FAILED: Final = "failed"
"""What a node did with a row: its ``when`` did not hold for one that was skipped."""


@dataclasses.dataclass(slots=True)
class NodeRecord:
    """What one node did with the rows of a batch, or of a part of it.

    Attributes:
        node: The node, with what the loaded models say of its columns.
        rows: Index of each row that reached the node.
        read: The columns that the node and its ``when`` read, with their companions, one leading item per row.
        runs: The rows that the node ran on, ``[N]``.
        faults: The errors of the rows that it failed on, by their positions in ``rows``.
        nanoseconds: How long its calls took together.
        left: Index of each row that is in the batch after the node.
        made: The columns that the node added, with their companions, one leading item per row of ``left``.
    """

    node: CheckedNode
    rows: np.ndarray
    read: Columns
    runs: np.ndarray
    faults: Mapping[int, NodeError]
    nanoseconds: int
    left: np.ndarray
    made: Columns = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.spec.name

    def state(self, position: int) -> str:
        """Returns ``ANSWERED``, ``SKIPPED`` or ``FAILED`` for a row, by its position in ``rows``."""
        if position in self.faults:
            return FAILED
        return ANSWERED if self.runs[position] else SKIPPED

    def answered(self) -> np.ndarray:
        """Returns which rows of ``left`` the node itself answered, without nulls or defaults for failures, ``[N]``."""
        return self.went_well()[np.searchsorted(self.rows, self.left)]

    def went_well(self) -> np.ndarray:
        """Returns which rows of ``rows`` the node ran on and did not fail on, ``[N]``."""
        found = self.runs.copy()
        found[list(self.faults)] = False
        return found


class NodeRecorder:
    """Keeps what each node does with a batch (a ``columns.batch.Watch``), for one call of one thread.

    Attributes:
        records: One per node that ran, in the order in which they ended; several where a batch was cut into parts.
    """

    def __init__(self) -> None:
        self.records: list[NodeRecord] = []

    def asked(
        self,
        node: CheckedNode,
        batch: ColumnBatch,
        runs: np.ndarray | None,
        faults: Mapping[int, NodeError],
        nanoseconds: int,
    ) -> None:
        """Notes what a node was asked, and where it failed."""
        read = batch.read(dict.fromkeys((*node.inputs, *node.condition)))
        where = np.ones(len(batch), dtype=np.bool_) if runs is None else runs
        self.records.append(
            NodeRecord(node, batch.rows, read, where, dict(faults), nanoseconds, batch.rows[:0])
        )

    def answered(self, node: CheckedNode, batch: ColumnBatch) -> None:
        """Notes the columns that the node added."""
        record = self.records[-1]
        record.left = batch.rows
        record.made = batch.read(node.outputs) if len(batch) else {}

    def of(self, node: str) -> Sequence[NodeRecord]:
        """Returns the records of a node."""
        return [record for record in self.records if record.name == node]
