"""Make a lock: run rows in several batch sizes, and note what the ensemble is and answers."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import apache_beam
import numpy as np
import pyarrow as pa

from beam_ensembles import __version__
from beam_ensembles.columns.arrow_types import taken
from beam_ensembles.columns.batch import RowFailure
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.handlers.support.library_versions import versions_of
from beam_ensembles.locks.answers import Answers, answers_of
from beam_ensembles.locks.contract import contract_of, node_columns
from beam_ensembles.locks.digests import Digests, definitions
from beam_ensembles.locks.golden_rows import Sample, golden_bytes
from beam_ensembles.locks.lock_text import GoldenLock, Lock, NodeLock
from beam_ensembles.locks.shifts import LEAST_TOLERANCE, shifts
from beam_ensembles.tables.chunk import Chunk
from beam_ensembles.tables.parquet_files import chunk_of

_ROOM: Final = 10
"""The tolerance is that many times the largest difference between batch sizes."""
_LARGEST_TOLERANCE: Final = 1e-2
_SMALL_BATCHES: Final = (1, 7)
_MOST_SMALL: Final = 64
"""Rows that are scored again in small batches."""


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A lock with its golden rows.

    Attributes:
        lock: The lock.
        golden: The bytes of the file of golden rows.
    """

    lock: Lock
    golden: bytes


Read = Callable[[], Digests]
"""Reads the ensemble's files; called when its models are loaded, which downloads those of hubs."""


def make_lock(
    graph: EnsembleGraph,
    code: StageCode,
    stage: LoadedStage,
    rows: Sample,
    parameters: Mapping[str, str],
    read: Read,
) -> Made:
    """Returns the lock of an ensemble, with its golden rows.

    Args:
        graph: The ensemble.
        code: What the stage of all nodes does.
        stage: That stage, loaded.
        rows: The golden rows.
        parameters: Values of ``${name}``.
        read: Reads the ensemble's files.

    Raises:
        EnsembleError: A row fails, or answers depend on the rows beside it.
    """
    (batch,) = rows.table.to_batches()
    chunk = chunk_of(batch, 1)
    answers = _answers(code, stage, chunk, rows.numbers)
    tolerance = _tolerance(code, stage, batch, answers, rows.numbers)
    makers = makers_of(stage)
    golden = golden_bytes(rows.table, answers, makers)
    contract, digests = contract_of(graph, stage), read()
    lock = Lock(
        ensemble=graph.spec.name,
        parameters=dict(parameters),
        inputs=contract.inputs,
        outputs=contract.outputs,
        nodes=node_locks(graph, stage, digests),
        files=digests.files,
        data=digests.data,
        environment=environment(),
        golden=GoldenLock(
            hashlib.sha256(golden).hexdigest(),
            len(chunk),
            rows.seen,
            tuple(sorted({*_SMALL_BATCHES, len(chunk)})),
            tolerance,
        ),
    )
    return Made(lock, golden)


def node_locks(graph: EnsembleGraph, stage: LoadedStage, digests: Digests) -> dict[str, NodeLock]:
    """Returns what a lock says of each node, in the order in which they run.

    Args:
        graph: The ensemble.
        stage: The stage of all nodes, loaded.
        digests: Of the files that nodes read.
    """
    columns, said_of = node_columns(stage.nodes, stage.meanings), definitions(graph)
    return {
        node.spec.name: NodeLock(
            f"{node.spec.kind}: {node.spec.target}",
            said_of[node.spec.name],
            node.spec.file if node.spec.file in digests.files else None,
            tuple(dict.fromkeys((*node.inputs, *node.condition))),
            versions_of(node),
            {name: columns[name] for name in node.outputs},
        )
        for node in stage.nodes
    }


def makers_of(stage: LoadedStage) -> dict[str, str]:
    """Returns the node that makes each column."""
    return {column: node.spec.name for node in stage.nodes for column in node.outputs}


def environment() -> dict[str, str]:
    """Returns the versions of what every ensemble runs on."""
    return {
        "apache-beam": apache_beam.__version__,
        "beam-ensembles": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def said(failure: RowFailure) -> str:
    """Returns what a row failed on, for a message."""
    place = f"node '{failure.node}'" if failure.node else "the row itself"
    return f"{place}: [{failure.error.code}] {failure.error.message}"


def _answers(code: StageCode, stage: LoadedStage, chunk: Chunk, numbers: Sequence[int]) -> Answers:
    if chunk.faults:
        raise EnsembleError(f"row {numbers[chunk.faults[0].number - 1]:,} cannot be read")
    found = answers_of(code, stage, chunk)
    failed = found.failures or found.hidden
    if failed:
        count, first = len({one.index for one in failed}), failed[0]
        more = f"; {count - 1:,} of the other golden rows fail too" if count > 1 else ""
        how = "" if found.failures else ", which its 'on_error' hides"
        text = f"row {numbers[first.index]:,} fails{how}: {said(first)}{more}"
        raise EnsembleError(f"{text}; mend the node, or leave such rows out of the golden ones")
    return found


def _tolerance(
    code: StageCode, stage: LoadedStage, batch: pa.RecordBatch, whole: Answers, numbers: Sequence[int]
) -> dict[str, float]:
    """Returns by how much of its size each column's numbers may differ: more than they do between batch sizes.

    Raises:
        EnsembleError: Something else than rounding differs.
    """
    found = {
        name: LEAST_TOLERANCE for name, column in whole.columns.items() if column.values.dtype.kind == "f"
    }
    makers = makers_of(stage)
    rows = np.unique(np.linspace(0, len(batch) - 1, min(_MOST_SMALL, len(batch))).astype(np.int64))
    some = chunk_of(taken(batch, rows), 1)
    for size in _SMALL_BATCHES:
        again = answers_of(code, stage, some, size)
        if again.failures:
            first = again.failures[0]
            raise EnsembleError(
                f"row {numbers[rows[first.index]]:,} fails in a batch of {size} and not in one of {len(batch):,}: "
                f"{said(first)}"
            )
        for column, maker in makers.items():
            before = whole.columns[column].take(rows)
            between = shifts(before, again.columns[column], _LARGEST_TOLERANCE)
            if between.changed.any():
                row = numbers[rows[int(np.argmax(between.changed))]]
                raise EnsembleError(
                    f"node '{maker}' answers row {row:,} otherwise in a batch of {size} than in one of "
                    f"{len(batch):,} ('{column}'), so its answers cannot be locked: they depend on the rows beside "
                    "them, or on chance; look for a model in training mode, sampling, or a missing seed"
                )
            if column in found and between.share is not None:
                largest = float(np.nanmax(np.append(between.share, 0.0)))
                found[column] = max(found[column], float(f"{_ROOM * largest:.1e}"))
    return {name: found[name] for name in makers if name in found}
