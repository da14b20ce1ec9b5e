"""Spark's ``predict_batch_udf`` on this machine's cores, as its guide says.

Arrow between the JVM and Python, workers that stay, a model a worker. Rows are made in the engine: ids, joined with the
different rows.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.ml.functions import predict_batch_udf
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from tests.benchmarks.bare import Array
from tests.benchmarks.peers.program import CORES, Work
from tests.benchmarks.workload import ARROW_BATCH

PARTITIONS: Final = 4 * CORES
"""So that no core waits for long where another has more to do."""


class _Spark:
    """A session, and the rows."""

    def __init__(self, session: SparkSession, work: Work) -> None:
        self._session, self._work = session, work
        self._different = len(work.table)
        self._values = sql.broadcast(_values(session, work.table).cache())
        self._predict = _udf(work)

    def wake(self) -> None:
        """Scores a few rows: Spark ends workers that have had nothing to do for a minute."""
        self.score(self._different)

    def score(self, rows: int) -> tuple[int, float]:
        """Scores rows: the fields to the function, its answers to a sum."""
        ids = self._session.range(0, rows, numPartitions=PARTITIONS)
        made = ids.join(self._values, sql.col("id") % self._different == sql.col("at"))
        fields = self._work.table.column_names
        scored = made.select(self._predict(*fields).alias("scored"))
        name, index = self._work.bare.ANSWER
        answer = sql.col(f"scored.{name}")
        total = sql.sum(answer if index is None else answer[index])
        found = scored.agg(sql.count(sql.lit(1)).alias("rows"), total.alias("total")).first()
        assert found is not None
        return found["rows"], found["total"]


def _values(session: SparkSession, table: pa.Table) -> DataFrame:
    """Gives the different rows, each with its number."""
    return session.createDataFrame(
        _with_lists(table).append_column("at", pa.array(range(len(table)), pa.int64()))
    )


def _with_lists(table: pa.Table) -> pa.Table:
    """Gives lists of any length for those of one length, which Spark does not read."""
    fields = [
        pa.field(field.name, pa.list_(field.type.value_type))
        if pa.types.is_fixed_size_list(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _udf(work: Work) -> Any:
    shapes = {
        at: [field.type.list_size]
        for at, field in enumerate(work.table.schema)
        if pa.types.is_fixed_size_list(field.type)
    }
    types = ", ".join(f"{name}: {type_}" for name, type_ in work.bare.OUTPUTS.items())
    return predict_batch_udf(
        functools.partial(_make_predict, work),
        return_type=StructType.fromDDL(types),
        batch_size=work.batch_rows,
        input_tensor_shapes=shapes or None,
    )


def _make_predict(work: Work) -> Callable[..., Mapping[str, Array]]:
    """Loads the models on a worker; gives a function of one argument a field, which is what Spark looks at."""
    score, fields = work.bare.load(work.models), work.table.column_names

    def predict(*columns: Array) -> Mapping[str, Array]:
        return score(dict(zip(fields, columns, strict=True)))

    one = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(field, one) for field in fields]
    vars(predict)["__signature__"] = inspect.Signature(parameters)
    return predict


@contextlib.contextmanager
def started(work: Work) -> Iterator[_Spark]:
    """Starts a session of all cores."""
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(work.folder),
        "spark.sql.warehouse.dir": str(work.folder / "warehouse"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_BATCH),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.worker.reuse": "true",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield _Spark(session, work)
    finally:
        session.stop()
