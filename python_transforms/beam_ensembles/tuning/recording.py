"""Every node's answers for every row, computed once: conditions that depend on a cut-off are switched off meanwhile."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from beam_ensembles.columns.batch import concatenated
from beam_ensembles.errors import EnsembleError, listed
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.execution.node_records import NodeRecord, NodeRecorder
from beam_ensembles.graph.kinds import CheckedNode, Work, validity
from beam_ensembles.spec.model import OnError
from beam_ensembles.tuning.cut_offs import Expressions

LIVE: Final = "live"
"""A node that is computed again for each cut-off: it is light, and what it answers depends on them."""
GATED: Final = "gated"
"""A node whose answers are kept: cut-offs only say on which rows it runs."""
FIXED: Final = "fixed"
"""A node that no cut-off concerns."""


def roles_of(
    nodes: Sequence[CheckedNode], expressions: Mapping[str, Expressions], names: Sequence[str]
) -> dict[str, str]:
    """Returns for each node whether it is ``LIVE``, ``GATED`` or ``FIXED`` while some parameters change.

    Raises:
        EnsembleError: What a model reads depends on one of them, so that it would have to be called again.
    """
    changed: dict[str, str] = {}
    gated: set[str] = set()
    found = {}
    for node in nodes:
        name, own = node.spec.name, expressions[node.spec.name]
        is_light = node.kind.work is Work.LIGHT
        reads_changed = [column for column in node.inputs if column in changed]
        reads_gated = not gated.isdisjoint(node.inputs)
        when = own.reads(names, in_condition=True) or any(
            column in changed or column in gated for column in node.condition
        )
        if is_light and (own.reads(names, in_condition=False) or reads_changed or reads_gated or when):
            found[name] = LIVE
            changed.update(dict.fromkeys(node.outputs, name))
        elif reads_changed or (reads_gated and node.takes_nulls):
            column = next(one for one in node.inputs if one in changed or one in gated)
            text = f"'{name}' reads '{column}', which depends on {listed([f'${{{one}}}' for one in names])}, so that"
            raise EnsembleError(
                f"{text} every value would need calls of it; tune cut-offs that decide whether a model runs"
            )
        elif when or reads_gated:
            found[name] = GATED
            gated.update(node.outputs)
        else:
            found[name] = FIXED
    return found


def for_recording(code: StageCode, roles: Mapping[str, str]) -> StageCode:
    """Returns a stage in which every node runs on every row that a cut-off could send to it."""
    nodes = tuple(_for_recording(node, roles[node.spec.name]) for node in code.nodes)
    return dataclasses.replace(code, nodes=nodes)


def _for_recording(node: CheckedNode, role: str) -> CheckedNode:
    policy = OnError() if node.on_error.action == "fail" else node.on_error
    node = dataclasses.replace(node, on_error=policy, compared=())
    if role == FIXED:
        return node
    spec = dataclasses.replace(node.spec, when=None, when_columns=())
    return dataclasses.replace(node, spec=spec, condition={})


@dataclasses.dataclass(frozen=True, slots=True)
class Recording:
    """The columns of the rows that all nodes have answered.

    Attributes:
        rows: The place of each of these rows in the file, ``[N]``.
        columns: Their columns, with companions, in this order.
        milliseconds: How long each node took per row.
    """

    rows: np.ndarray
    columns: Mapping[str, np.ndarray]
    milliseconds: Mapping[str, float]


class Recorder:
    """Keeps columns of rows, chunk by chunk.

    Args:
        names: The columns to keep.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._parts: list[dict[str, np.ndarray]] = []
        self._rows: list[np.ndarray] = []
        self._count = 0

    def add(self, recorder: NodeRecorder, rows: int) -> None:
        """Adds what nodes did with a chunk.

        Args:
            recorder: What they did.
            rows: How many rows the chunk has.
        """
        left = _left(recorder.records)
        part: dict[str, np.ndarray] = {}
        for name in self._names:
            part.update(_column(name, recorder.records, left))
        if len(left):
            self._parts.append(part)
            self._rows.append(left + self._count)
        self._count += rows

    def recording(self, milliseconds: Mapping[str, float]) -> Recording:
        """Returns all.

        Raises:
            EnsembleError: No row was answered.
        """
        if not self._parts:
            raise EnsembleError("no row was answered by all nodes, so there is nothing to tune on")
        return Recording(np.concatenate(self._rows), concatenated(self._parts), milliseconds)


def _left(records: Sequence[NodeRecord]) -> np.ndarray:
    """Returns the rows that no node dropped; where a batch was cut, each part has its own records."""
    reached: set[int] = set()
    gone: set[int] = set()
    for record in records:
        reached.update(record.rows.tolist())
        gone.update(np.setdiff1d(record.rows, record.left).tolist())
    return np.array(sorted(reached - gone), np.int64)


def _column(name: str, records: Sequence[NodeRecord], left: np.ndarray) -> dict[str, np.ndarray]:
    """Returns a column of some rows with its companion, from the nodes that made or read it."""
    made = [(record.left, record.made) for record in records if name in record.made]
    found = made or [(record.rows, record.read) for record in records if name in record.read]
    if not made and found:  # several nodes read an input: the first of them has seen all rows
        first = next(record.name for record in records if name in record.read)
        found = [(one.rows, one.read) for one in records if one.name == first]
    rows = np.concatenate([rows for rows, _ in found]) if found else np.zeros(0, np.int64)
    if not np.isin(left, rows).all():
        return {}
    order = np.argsort(rows, kind="stable")
    places = order[np.searchsorted(rows, left, sorter=order)]
    wanted = (name, validity(name))
    values = concatenated([{key: part[key] for key in wanted if key in part} for _, part in found])
    return {key: column[places] for key, column in values.items()}
