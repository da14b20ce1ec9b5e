"""On which rows of a batch a node runs: its condition, and the values that it cannot do without."""

from __future__ import annotations

import dataclasses

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.errors import NodeError, listed
from beam_ensembles.execution.conditions import RowsWhere
from beam_ensembles.graph.kinds import CheckedNode, validity
from beam_ensembles.graph.shared_options import NullOptions


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """What a node asks of a row.

    Attributes:
        node: The node.
        condition: Says for which rows its ``when`` holds; None: for all.
        needed: The nullable columns that must have a value.
        members: The columns of which ``quorum`` must have one.
        quorum: How many.
    """

    node: CheckedNode
    condition: RowsWhere | None
    needed: tuple[str, ...]
    members: tuple[str, ...]
    quorum: int

    @classmethod
    def of(cls, node: CheckedNode) -> Selection | None:
        """Creates the selection of a node; None where it runs on every row."""
        condition = None if node.spec.when is None else RowsWhere(node)
        nullable = tuple(column for column, type_ in node.inputs.items() if type_.nullable)
        quorum = int(node.spec.options.get("quorum", 0)) if nullable else 0
        needed = () if node.takes_nulls else nullable
        if condition is None and not needed and not quorum:
            return None
        return cls(node, condition, needed, tuple(node.inputs) if quorum else (), quorum)

    def rows(self, batch: ColumnBatch, faults: dict[int, NodeError]) -> tuple[np.ndarray, int]:
        """Returns which rows the node runs on, and how many its condition leaves out.

        Args:
            batch: The columns so far.
            faults: Takes the rows that lack something, by their position.
        """
        runs = np.ones(len(batch), dtype=np.bool_)
        skipped = 0
        if self.condition is not None:
            runs, own = self.condition(batch)
            faults.update(own)
            skipped = len(batch) - int(np.count_nonzero(runs)) - len(own)
        for column in self.needed:
            valid = batch.columns.get(validity(column))
            if valid is not None:
                self._leave_out(runs & ~valid, runs, faults, self._null(column))
        if self.quorum:
            present = sum(batch.present(column).astype(np.int64) for column in self.members)
            few = runs & (present < self.quorum)
            self._leave_out(few, runs, faults, self._too_few())
        return runs, skipped

    def _leave_out(
        self, which: np.ndarray, runs: np.ndarray, faults: dict[int, NodeError], error: NodeError
    ) -> None:
        runs[which] = False
        faults.update((int(at), error) for at in np.flatnonzero(which))

    def _null(self, column: str) -> NodeError:
        spec = self.node.spec
        if spec.kind == "combine":
            text = (
                f"the member '{column}' has no value, and {spec.target} needs all (votes may have a 'quorum')"
            )
            return NodeError("member_missing", text)
        leave_out = f"give the node a 'when: {column} IS NOT NULL'"
        if not isinstance(self.node.options, NullOptions):
            return NodeError(
                "null_value", f"'{column}' is null, and {spec.target} takes no nulls; {leave_out}"
            )
        missing = "set 'nulls: missing' on the node if its model was trained for missing values"
        return NodeError("null_value", f"'{column}' is null; {missing}, or {leave_out}")

    def _too_few(self) -> NodeError:
        text = f"fewer than {self.quorum} of the members ({listed(self.members)}) have a value"
        return NodeError("quorum_missed", text)
