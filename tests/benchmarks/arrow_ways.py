"""Rows a second in Python where they are in Arrow already, from a Parquet file; and the bare loop on such batches.

The batches have the size of those in which the clients send rows, so that the loop is what these are compared with too.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from beam_ensembles.transforms import RunEnsemble
from tests.benchmarks import bare, pipelines
from tests.benchmarks import workload as workloads
from tests.benchmarks.peers_table import LARGE_LOOP
from tests.benchmarks.python_ways import isolated
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.workload import ARROW_BATCH, Workload, different

ARROW: Final = "python arrow"
ROWS: Final = {
    "light": {ARROW: 12_582_912, LARGE_LOOP: 1_048_576},
    "digits": {ARROW: 4_718_592, LARGE_LOOP: 131_072},
}
"""Rows of the first long run: seconds of work; about eight starts where a start takes seconds."""

_TIMES: Final = 64
"""How often the Parquet file, which is read again and again, has each of the different rows."""


class _Batches(beam.DoFn):
    """Reads so many rows from a Parquet file, as record batches."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def process(self, rows: int) -> Iterator[pa.RecordBatch]:
        while rows:
            for batch in pq.ParquetFile(self._file).iter_batches(min(ARROW_BATCH, rows)):
                yield batch.slice(0, rows)
                rows -= min(len(batch), rows)
                if not rows:
                    return


class _Sink(pipelines.Total):
    """Takes record batches of scored rows."""

    def __init__(self, workload: Workload) -> None:
        self._name = workload.name

    def setup(self) -> None:
        self._bare = bare.load_bare(self._name)

    def process(self, batch: pa.RecordBatch) -> None:
        self._count += len(batch)
        self._sum += bare.sum_of_answers(self._bare, batch)


def _file(workload: Workload) -> Path:
    return workloads.values_path(workload.name).with_suffix(".parquet")


def _write(workload: Workload) -> None:
    table = bare.read_table(workloads.table_path(workload.name))
    rows = pa.concat_tables([table] * _TIMES)
    ids = pa.array(np.arange(len(rows)))
    pq.write_table(rows.add_column(0, "id", ids), _file(workload), row_group_size=len(rows))


def _run_loop(workload: Workload, rows: int) -> Run:
    models = bare.load_bare(workload.name)
    score = models.load(workload.models)
    step = _step(workload, LARGE_LOOP)
    times = step // different(workload.name)
    columns = {
        name: np.concatenate([values] * times)
        for name, values in workloads.read_columns(workload.name).items()
    }
    batches = list(bare.batches(columns, ARROW_BATCH))
    total, start = 0.0, time.perf_counter()
    for _ in range(rows // step):
        for batch in batches:
            total += float(bare.answers(models, score(batch)).sum())
    return Run(rows, time.perf_counter() - start, total / rows)


def _step(workload: Workload, way: str) -> int:
    """Gives of how many rows runs have a multiple: all different rows, equally often; in the loop whole batches too."""
    rows = different(workload.name)
    return max(rows, ARROW_BATCH) if way == LARGE_LOOP else rows


def run(name: str, way: str, rows: int) -> Run:
    """Scores rows of a workload in one of the ways."""
    workload = workloads.load(name)
    gc.collect()
    if way == LARGE_LOOP:
        return _run_loop(workload, rows)
    file = _file(workload)
    pipeline = beam.Pipeline(runner=FnApiRunner())
    batches: Any = (
        pipeline | beam.Create([rows]) | beam.ParDo(_Batches(file)).with_output_types(pa.RecordBatch)
    )
    scored = batches | RunEnsemble(workload.ensemble).with_arrow_schema(pq.read_schema(file))
    return pipelines.measured(pipeline, scored, beam.ParDo(_Sink(workload)), rows)[0]


@contextlib.contextmanager
def arrow_ways(workload: Workload) -> Iterator[dict[str, Way]]:
    """Gives the ways to score a workload's rows in batches as large as those of the clients."""
    _write(workload)
    with contextlib.ExitStack() as processes:
        yield {
            way: Way(
                isolated(processes, functools.partial(run, workload.name, way)),
                rows,
                scores="all",
                step=_step(workload, way),
            )
            for way, rows in ROWS[workload.name].items()
        }
