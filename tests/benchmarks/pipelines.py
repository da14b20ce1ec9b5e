"""The ways to score rows in Python, each over a number of rows; runs in a process of its own.

Pipelines run on Beam's in-process runner, the one that its default takes where it has no Prism.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.metrics.metric import MetricResults
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble
from tests.benchmarks import workload as workloads
from tests.benchmarks.members import base
from tests.benchmarks.sampling import Run
from tests.benchmarks.workload import BATCH, Rows, Workload

ENSEMBLE: Final = "ensemble"
HAND_WIRED: Final = "hand-wired"
LOOP: Final = "bare model loop"
ONE_NODE: Final = "ensemble of one node"
RUN_INFERENCE: Final = "bare RunInference"

_NAMESPACE: Final = "bench"
_SCALE: Final = 1_000_000
"""Counters count whole numbers: answers are summed in millionths."""


class _Rows(beam.DoFn):
    """Makes rows of a workload's values, which lie in a file: nothing is pickled into the pipeline."""

    def __init__(self, workload: Rows, rows: int, *, with_id: bool) -> None:
        self._workload, self._rows, self._with_id = workload, rows, with_id

    def process(self, impulse: Any) -> Iterator[Any]:
        values = workloads.read_values(self._workload).tolist()
        fields = self._workload.as_fields
        if self._with_id:
            for id_ in range(self._rows):
                yield beam.Row(id=id_, **fields(values[id_ % BATCH]))
        else:
            for at in range(self._rows):
                yield beam.Row(**fields(values[at % BATCH]))


class _Sink(beam.DoFn):
    """Counts scored rows and adds up their answers."""

    def __init__(self, workload: Rows) -> None:
        self._answer = workload.answer

    def start_bundle(self) -> None:
        self._count, self._sum = 0, 0.0

    def process(self, row: Any) -> None:
        self._count += 1
        self._sum += self._answer(row)

    def finish_bundle(self) -> None:
        Metrics.counter(_NAMESPACE, "rows").inc(self._count)
        Metrics.counter(_NAMESPACE, "answers").inc(round(self._sum * _SCALE))


def _ensemble(workload: Workload, rows: Any) -> Any:
    return rows | RunEnsemble(workload.ensemble)


def _hand_wired(workload: Workload, rows: Any) -> Any:
    features = rows | "Features" >> beam.Map(workload.keyed)
    predictions = {
        name: features | name >> base.RunInference(base.KeyedModelHandler(handler))
        for name, handler in workload.handlers().items()
    }
    return predictions | beam.CoGroupByKey() | "Combine" >> beam.Map(workload.joined)


def _one_node(workload: Workload, rows: Any) -> Any:
    return rows | RunEnsemble(workload.one_node)


def _run_inference(workload: Workload, rows: Any) -> Any:
    handler = workload.handlers()[workload.one_node_member]
    features = rows | "Features" >> beam.Map(workload.features)
    return features | base.RunInference(handler) | "Rows" >> beam.Map(workload.answered)


_PIPELINES: Final[Mapping[str, Callable[[Workload, Any], Any]]] = {
    ENSEMBLE: _ensemble,
    HAND_WIRED: _hand_wired,
    ONE_NODE: _one_node,
    RUN_INFERENCE: _run_inference,
}
_WITH_ID: Final = (ENSEMBLE, HAND_WIRED)
"""RunInference of unkeyed rows loses their ids, so that neither side of that comparison has one."""


def run(name: str, way: str, rows: int) -> Run:
    """Scores rows of a workload in one of the ways."""
    workload = workloads.load(name)
    gc.collect()
    if way == LOOP:
        return _run_loop(workload, rows)
    done, _ = run_pipeline(
        workload, rows, lambda read: _PIPELINES[way](workload, read), with_id=way in _WITH_ID
    )
    return done


def _run_loop(workload: Workload, rows: int) -> Run:
    values, score = workloads.read_values(workload), workload.loop()
    total, start = 0.0, time.perf_counter()
    for _ in range(rows // BATCH):
        total += float(score(values)[0].sum())
    return Run(rows, time.perf_counter() - start, total / rows)


def run_pipeline(
    workload: Rows, rows: int, score: Callable[[Any], Any], *, with_id: bool = False
) -> tuple[Run, MetricResults]:
    """Scores rows in a pipeline.

    Args:
        workload: The rows.
        rows: How many.
        score: Scores a PCollection of them.
        with_id: Whether they have an id.

    Returns:
        The run, and the job's metrics.
    """
    pipeline = beam.Pipeline(runner=FnApiRunner())
    fields = [("id", int)] * with_id + list(workload.fields)
    source = beam.ParDo(_Rows(workload, rows, with_id=with_id))
    read = pipeline | beam.Impulse() | source.with_output_types(RowTypeConstraint.from_fields(fields))
    _ = score(read) | "Sink" >> beam.ParDo(_Sink(workload))
    start = time.perf_counter()
    result = pipeline.run()
    result.wait_until_finish()
    seconds = time.perf_counter() - start
    metrics = result.metrics()
    counters = {
        each.key.metric.name: each.result
        for each in metrics.query()["counters"]
        if each.key.metric.namespace == _NAMESPACE
    }
    if counters["rows"] != rows:
        raise RuntimeError(f"{rows} rows went in, {counters['rows']} came out")
    return Run(rows, seconds, counters["answers"] / _SCALE / rows), metrics
