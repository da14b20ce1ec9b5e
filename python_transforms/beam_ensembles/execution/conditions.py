"""For which rows of a batch a node's ``when`` holds."""

from __future__ import annotations

from typing import Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.columns.expressions import Condition
from beam_ensembles.errors import NodeError
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import CheckedNode, Columns

_HOLDS: Final = "holds"


class RowsWhere:
    """Evaluates a node's ``when`` over batches.

    Args:
        node: A node that has one.
    """

    def __init__(self, node: CheckedNode) -> None:
        self._columns = tuple(node.condition)
        self._condition = Condition(node.spec.when or "", dict(node.condition))

    def __call__(self, batch: ColumnBatch) -> tuple[np.ndarray, dict[int, NodeError]]:
        """Returns a truth value for each row, and the rows on which the condition fails; it does not hold there."""
        if not len(batch):
            return np.zeros(0, dtype=np.bool_), {}
        found, faults = run_split(self._holds, batch.read(self._columns), len(batch))
        if not faults:
            return np.array(found[_HOLDS], dtype=np.bool_), faults
        holds = np.zeros(len(batch), dtype=np.bool_)
        if found:
            holds[np.delete(np.arange(len(batch)), list(faults))] = found[_HOLDS]
        return holds, faults

    def _holds(self, columns: Columns) -> Columns:
        return {_HOLDS: self._condition(columns)}
