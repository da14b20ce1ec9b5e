"""Runs the nodes of a stage over one columnar batch, node by node, and finds the rows that a node cannot take."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.runtime.metrics import NodeMeter

_LONGEST_MESSAGE = 2_000


def run_nodes(
    nodes: Sequence[CheckedNode],
    members: Mapping[str, Member],
    meters: Mapping[str, NodeMeter],
    batch: ColumnBatch,
) -> None:
    """Runs nodes in order; each adds its columns to the batch and takes out the rows that it fails on.

    Args:
        nodes: The nodes, every one after those whose columns it reads.
        members: The loaded nodes by name.
        meters: The metrics of each node by name.
        batch: Changed in place: columns are added, failed rows leave.
    """
    for node in nodes:
        if not len(batch):
            return
        _run_node(node, members[node.spec.name], meters[node.spec.name], batch)


def _run_node(node: CheckedNode, member: Member, meter: NodeMeter, batch: ColumnBatch) -> None:
    columns = {name: batch.columns[name] for name in node.inputs}
    rows = len(batch)
    start = time.perf_counter_ns()
    outputs, faults = run_split(member, columns, rows)
    meter.ran(rows, columns, time.perf_counter_ns() - start, len(faults))
    batch.drop(node.spec.name, faults)
    batch.columns.update(outputs)


def run_split(member: Member, columns: Columns, count: int) -> tuple[Columns, dict[int, NodeError]]:
    """Calls a member with all rows, and where that fails with halves of them, until the bad rows stand alone.

    ``k`` bad rows of ``n`` cost at most about ``2 k log2(n)`` calls more.

    Args:
        member: The loaded node.
        columns: What it reads, ``count`` leading items each.
        count: How many rows there are.

    Returns:
        The columns of the rows that went well, in order, and the error of each row that did not, by its position.
    """
    parts: list[Columns] = []
    faults: dict[int, NodeError] = {}
    waiting = [(0, count)]
    while waiting:
        start, end = waiting.pop()
        try:
            whole = start == 0 and end == count
            part = columns if whole else {name: values[start:end] for name, values in columns.items()}
            parts.append(member(part))
        except Exception as error:
            if end - start == 1:
                faults[start] = _as_node_error(error)
            else:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]
    return _joined(parts), faults


def _joined(parts: Sequence[Columns]) -> Columns:
    if len(parts) <= 1:
        return parts[0] if parts else {}
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _as_node_error(error: Exception) -> NodeError:
    if isinstance(error, NodeError):
        return error
    text = " ".join(str(error).split())[:_LONGEST_MESSAGE]
    stack = "".join(traceback.format_exception(error))
    return NodeError(
        "model_error", f"{type(error).__name__}: {text}" if text else type(error).__name__, stack=stack
    )
