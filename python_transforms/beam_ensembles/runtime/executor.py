"""Runs the nodes of a stage over one columnar batch, node by node, and finds the rows that a node cannot take."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.errors import BatchFailed, NodeError, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.handlers.config import batch_limit
from beam_ensembles.runtime.metrics import NodeMeter


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
    columns = batch.read_only(node.inputs)
    rows = len(batch)
    start = time.perf_counter_ns()
    outputs, faults = run_split(member, columns, rows, batch_limit(node))
    meter.ran(rows, columns, time.perf_counter_ns() - start, len(faults))
    batch.drop(node.spec.name, faults)
    batch.columns.update(outputs)


def run_split(
    member: Member, columns: Columns, count: int, limit: int | None = None
) -> tuple[Columns, dict[int, NodeError]]:
    """Calls a member with all rows, and where that fails with halves of them, until the bad rows stand alone.

    ``k`` bad rows of ``n`` cost at most about ``2 k log2(n)`` calls more. Where the member says that no row is to blame
    (``BatchFailed``), the rows that have no answer yet all fail with that, and it is not called again; where it names
    the bad rows itself (``SomeFailed``), the others have their answers already.

    Args:
        member: The loaded node.
        columns: What it reads, ``count`` leading items each.
        count: How many rows there are.
        limit: The most rows that one call may get.

    Returns:
        The columns of the rows that went well, in order, and the error of each row that did not, by its position.
    """
    parts: list[Columns] = []
    faults: dict[int, NodeError] = {}
    size = max(1, min(limit or count, count))
    waiting = [(start, min(start + size, count)) for start in reversed(range(0, count, size))]
    while waiting:
        start, end = waiting.pop()
        try:
            whole = start == 0 and end == count
            part = columns if whole else {name: values[start:end] for name, values in columns.items()}
            parts.append(member(part))
        except BatchFailed as error:
            return _joined(parts), faults | dict.fromkeys(range(start, count), error)
        except SomeFailed as error:
            faults.update((start + at, fault) for at, fault in error.faults.items())
            if len(error.faults) < end - start:
                parts.append(error.columns)
        except Exception as error:
            if end - start == 1:
                faults[start] = NodeError.of(error)
            else:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]
    return _joined(parts), faults


def _joined(parts: Sequence[Columns]) -> Columns:
    if len(parts) <= 1:
        return parts[0] if parts else {}
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
