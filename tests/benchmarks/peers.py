"""Spark and Ray Data: programs that are started once and score on request, as ``programs`` describes.

They run in environments of their own, without Beam and without this project, and call the models as the bare loop does.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tests.benchmarks import workload as workloads
from tests.benchmarks.sampling import Run
from tests.benchmarks.workload import ARROW_BATCH, BATCH, Array, Workload

CORES = len(os.sched_getaffinity(0))
Score = Callable[[int], tuple[int, float]]
"""Scores rows; returns how many came out, and the sum of their answers."""


def _batch_rows(workload: Workload) -> int:
    """Returns the rows of a batch from Go or Java, if the models take whole batches; otherwise those that they take."""
    return ARROW_BATCH if workload.rows_at_once == BATCH else workload.rows_at_once


@contextlib.contextmanager
def spark(workload: Workload, folder: str) -> Iterator[Score]:
    """Starts Spark on this machine's cores, for its ``predict_batch_udf``, as its guide says.

    Arrow between the JVM and Python, workers that stay, a model per worker. Rows are made in the engine: ids, joined
    with the different rows.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as sql

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_BATCH),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.worker.reuse": "true",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    table = workload.table()
    numbers = pa.array(range(len(table)), pa.int64())
    values = session.createDataFrame(_with_lists(table).append_column("at", numbers))
    different, predict = sql.broadcast(values.cache()), _udf(workload, table)
    name, index = workload.answer
    answer = sql.col(f"scored.{name}")
    total = sql.sum(answer if index is None else answer[index])

    def score(rows: int) -> tuple[int, float]:
        # More partitions than cores, so that no core waits for long while another has more to do.
        ids = session.range(0, rows, numPartitions=4 * CORES)
        made = ids.join(different, sql.col("id") % len(table) == sql.col("at"))
        scored = made.select(predict(*table.column_names).alias("scored"))
        found = scored.agg(sql.count(sql.lit(1)).alias("rows"), total.alias("total")).first()
        assert found is not None
        return found["rows"], found["total"]

    try:
        yield score
    finally:
        session.stop()


def _with_lists(table: pa.Table) -> pa.Table:
    """Returns lists of any length instead of those of one length, which Spark does not read."""
    fixed = pa.types.is_fixed_size_list
    fields = [
        pa.field(one.name, pa.list_(one.type.value_type)) if fixed(one.type) else one for one in table.schema
    ]
    return table.cast(pa.schema(fields))


def _udf(workload: Workload, table: pa.Table) -> Any:
    from pyspark.ml.functions import predict_batch_udf
    from pyspark.sql.types import StructType

    fixed = pa.types.is_fixed_size_list
    shapes = {at: [one.type.list_size] for at, one in enumerate(table.schema) if fixed(one.type)}
    types = ", ".join(f"{name}: {type_}" for name, type_ in workload.outputs.items())
    return predict_batch_udf(
        functools.partial(_make_predict, workload),
        return_type=StructType.fromDDL(types),
        batch_size=_batch_rows(workload),
        input_tensor_shapes=shapes or None,
    )


def _make_predict(workload: Workload) -> Callable[..., Mapping[str, Array]]:
    """Loads the models on a worker; returns a function of one argument per field, which is what Spark looks at."""
    score, fields = workload.load(), list(workload.fields)

    def predict(*columns: Array) -> Mapping[str, Array]:
        return score(dict(zip(fields, columns, strict=True)))

    one = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(field, one) for field in fields]
    vars(predict)["__signature__"] = inspect.Signature(parameters)
    return predict


@contextlib.contextmanager
def ray(workload: Workload, folder: str) -> Iterator[Score]:
    """Starts Ray Data on this machine, for its ``map_batches``, as its guide says.

    An actor per core holds the models; rows are made in tasks before, of their numbers and the different rows. The
    answers are added up here, as they are ready.
    """
    import ray as engine

    engine.init(
        num_cpus=2 * CORES,  # actors take one each; tasks that make rows, which is little work, the others
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=2 * 2**30,
        _node_ip_address="127.0.0.1",
        _temp_dir=folder,
    )
    engine.data.DataContext.get_current().enable_progress_bars = False

    def score(rows: int) -> tuple[int, float]:
        made = engine.data.range(rows, override_num_blocks=max(1, min(8, rows // 1_024))).map_batches(
            functools.partial(_make_rows, workload), batch_size=None, batch_format="pyarrow"
        )
        scored = made.map_batches(
            _Models,
            fn_constructor_args=(workload,),
            batch_size=_batch_rows(workload),
            batch_format="pyarrow",
            compute=engine.data.ActorPoolStrategy(size=CORES),
            num_cpus=1,
        )
        count, total = 0, 0.0
        for batch in scored.iter_batches(batch_size=None, batch_format="pyarrow"):
            count += len(batch)
            total += float(_answers(workload, batch).sum())
        return count, total

    try:
        yield score
    finally:
        engine.shutdown()


class _Models:
    """An actor: loads the models once."""

    def __init__(self, workload: Workload) -> None:
        self._score = workload.load()

    def __call__(self, batch: pa.Table) -> dict[str, Array]:
        """Scores a batch of Arrow's: Ray itself makes an array of objects of lists of one length."""
        return self._score(workloads.columns_of(batch))


def _make_rows(workload: Workload, ids: pa.Table) -> pa.Table:
    return _table(workload.name).take(pa.array(ids["id"].to_numpy() % workload.different))


@functools.cache
def _table(name: str) -> pa.Table:
    return workloads.load(name).table()


def _answers(workload: Workload, batch: pa.Table) -> Array:
    name, index = workload.answer
    column: Any = batch[name].combine_chunks()
    found: Array = column.to_numpy() if index is None else column.to_numpy_ndarray()[:, index]
    return found


def main() -> None:
    """Starts the peer that is named, for a workload, with a folder; scores until the input ends."""
    peer, name, folder = sys.argv[1:]
    workload = workloads.load(name)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed goes to the log
    with {"spark": spark, "ray": ray}[peer](workload, folder) as score:
        print("{}", file=out, flush=True)
        for line in sys.stdin:
            if peer == "spark":  # it ends workers that have had nothing to do for a minute
                score(workload.different)
            start, rows = time.perf_counter(), int(line)
            count, total = score(rows)
            seconds = time.perf_counter() - start
            if count != rows:
                raise RuntimeError(f"{rows} rows went in, {count} came out")
            print(json.dumps(dataclasses.asdict(Run(rows, seconds, total / rows))), file=out, flush=True)
