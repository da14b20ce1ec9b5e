"""Ray Data's ``map_batches`` on this machine, as its guide says.

An actor a core holds the models; rows are made in tasks before, of their numbers and the different rows.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import ray

from tests.benchmarks import bare
from tests.benchmarks.bare import Array
from tests.benchmarks.peers.program import CORES, Work

STORE: Final = 2 * 2**30
"""Bytes of the object store."""
BLOCKS: Final = 8
"""Parts in which the rows are made, at most; of ``BLOCK_ROWS`` or more."""
BLOCK_ROWS: Final = 1_024


class _Models:
    """An actor: loads the models once."""

    def __init__(self, work: Work) -> None:
        self._score = work.bare.load(work.models)

    def __call__(self, batch: pa.Table) -> dict[str, Array]:
        """Scores a batch; the rows themselves are not needed any more.

        The batch is Arrow's, as Ray itself makes an array of objects of lists of one length.
        """
        return self._score(bare.columns_of(batch))


class _Ray:
    """A cluster of this machine."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def wake(self) -> None:
        """Does nothing: the actors of a run are new in any case."""

    def score(self, rows: int) -> tuple[int, float]:
        """Scores rows; the answers are added up here, where they come as they are ready."""
        bare_ = self._work.bare
        made = ray.data.range(rows, override_num_blocks=max(1, min(BLOCKS, rows // BLOCK_ROWS))).map_batches(
            functools.partial(_make_rows, str(self._work.values)),
            batch_size=None,
            batch_format="pyarrow",
        )
        scored = made.map_batches(
            _Models,
            fn_constructor_args=(self._work,),
            batch_size=self._work.batch_rows,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=CORES),
            num_cpus=1,
        )
        count, total = 0, 0.0
        for batch in scored.iter_batches(batch_size=None, batch_format="pyarrow"):
            count += len(batch)
            total += float(_answers(bare_, batch).sum())
        return count, total


def _make_rows(values: str, ids: pa.Table) -> pa.Table:
    table = _table(values)
    return table.take(pa.array(ids["id"].to_numpy() % len(table)))


@functools.cache
def _table(values: str) -> pa.Table:
    return bare.read_table(Path(values))


def _answers(module: bare.Bare, batch: pa.Table) -> Array:
    name, index = module.ANSWER
    column: Any = batch[name].combine_chunks()
    found: Array = column.to_numpy() if index is None else column.to_numpy_ndarray()[:, index]
    return found


@contextlib.contextmanager
def started(work: Work) -> Iterator[_Ray]:
    """Starts a cluster of this machine's cores, on this machine's own address, without a dashboard."""
    ray.init(
        num_cpus=2 * CORES,  # actors take one each; tasks that make rows, which is little work, the others
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=STORE,
        _node_ip_address="127.0.0.1",
        _temp_dir=str(work.folder),
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield _Ray(work)
    finally:
        ray.shutdown()
