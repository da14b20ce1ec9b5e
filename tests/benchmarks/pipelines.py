"""The ways to score rows in Python, each over a number of rows; runs in a process of its own.

Pipelines run on Beam's in-process runner, the one that its default takes where it has no Prism.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.metrics.metric import MetricResults
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms.window import GlobalWindows
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble
from tests.benchmarks import bare
from tests.benchmarks import workload as workloads
from tests.benchmarks.members import base
from tests.benchmarks.sampling import Run
from tests.benchmarks.workload import Rows, WithOneNode, Workload

ENSEMBLE: Final = "ensemble"
HAND_WIRED: Final = "hand-wired"
LOOP: Final = "bare model loop"
ONE_NODE: Final = "ensemble of one node"
RUN_INFERENCE: Final = "bare RunInference"

_NAMESPACE: Final = "bench"
_SCALE: Final = 1_000_000
"""Counters count whole numbers: answers are summed in millionths."""


class _Rows(beam.DoFn):
    """Makes so many rows of a workload's values, which lie in a file: nothing is pickled into the pipeline."""

    def __init__(self, workload: Rows, *, with_id: bool) -> None:
        self._workload, self._with_id = workload, with_id

    def process(self, rows: int) -> Iterator[Any]:
        values = workloads.read_values(self._workload).tolist()
        different, fields = len(values), self._workload.as_fields
        if self._with_id:
            for id_ in range(rows):
                yield beam.Row(id=id_, **fields(values[id_ % different]))
        else:
            for at in range(rows):
                yield beam.Row(**fields(values[at % different]))


class Total(beam.DoFn):
    """Counts scored rows and adds up their answers: what a sink of any form begins and ends with.

    The totals of each bundle go to a next step, as in a sink that writes files. While a step without a next one runs,
    Prism 2.77 keeps a core busy with waiting: so that one comes once, when all bundles have ended.
    """

    def start_bundle(self) -> None:
        self._count, self._sum = 0, 0.0

    def finish_bundle(self) -> Iterator[Any]:
        yield GlobalWindows.windowed_value((self._count, self._sum))


def _collect(_: int, totals: Iterable[tuple[int, float]]) -> None:
    """Takes the totals of all bundles."""
    for count, answers in totals:
        Metrics.counter(_NAMESPACE, "rows").inc(count)
        Metrics.counter(_NAMESPACE, "answers").inc(round(answers * _SCALE))


class _Sink(Total):
    """Takes scored rows."""

    def __init__(self, workload: Rows) -> None:
        self._answer = workload.answer

    def process(self, row: Any) -> None:
        self._count += 1
        self._sum += self._answer(row)


def _ensemble(workload: Workload, rows: Any) -> Any:
    return rows | RunEnsemble(workload.ensemble)


def _hand_wired(workload: Workload, rows: Any) -> Any:
    features = rows | "Features" >> beam.Map(workload.keyed)
    predictions = {
        name: features | name >> base.RunInference(base.KeyedModelHandler(handler))
        for name, handler in workload.handlers().items()
    }
    if len(predictions) > 1:
        grouped = predictions | beam.CoGroupByKey()
    else:  # the prediction of the only member holds all that there is of its row
        ((name, alone),) = predictions.items()
        grouped = alone | "Group" >> beam.MapTuple(lambda key, prediction: (key, {name: [prediction]}))
    return grouped | "Combine" >> beam.Map(workload.joined)


def _one_node(workload: WithOneNode, rows: Any) -> Any:
    return rows | RunEnsemble(workload.one_node)


def _run_inference(workload: WithOneNode, rows: Any) -> Any:
    handler = workload.handlers()[workload.one_node_member]
    features = rows | "Features" >> beam.Map(workload.features)
    return features | base.RunInference(handler) | "Rows" >> beam.Map(workload.answered)


_PIPELINES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
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
    models = bare.load_bare(workload.name)
    score, columns = models.load(workload.models), workloads.read_columns(workload.name)
    batches = list(bare.batches(columns, models.ROWS))
    total, start = 0.0, time.perf_counter()
    for _ in range(rows // workloads.different(workload.name)):
        for batch in batches:
            total += float(bare.answers(models, score(batch)).sum())
    return Run(rows, time.perf_counter() - start, total / rows)


def run_on(flags: Sequence[str], workload: Workload, rows: int, parts: int) -> Run:
    """Scores rows with the ensemble on a portable runner.

    Args:
        flags: Those of Beam's SDK.
        workload: The rows.
        rows: How many.
        parts: In how many parts they are made; more than one are spread over the workers.
    """
    pipeline = beam.Pipeline(options=PipelineOptions(flags))
    scored = _ensemble(workload, _source(pipeline, workload, _shares(rows, parts), with_id=True))
    return measured(pipeline, scored, beam.ParDo(_Sink(workload)), rows)[0]


def run_pipeline(
    workload: Rows, rows: int, score: Callable[[Any], Any], *, with_id: bool = False
) -> tuple[Run, MetricResults]:
    """Scores rows in a pipeline of this process.

    Args:
        workload: The rows.
        rows: How many.
        score: Scores a PCollection of them.
        with_id: Whether they have an id.

    Returns:
        The run, and the job's metrics.
    """
    pipeline = beam.Pipeline(runner=FnApiRunner())
    scored = score(_source(pipeline, workload, [rows], with_id=with_id))
    return measured(pipeline, scored, beam.ParDo(_Sink(workload)), rows)


def _source(pipeline: beam.Pipeline, workload: Rows, counts: Sequence[int], *, with_id: bool) -> Any:
    fields = [("id", int)] * with_id + list(workload.fields)
    made = beam.ParDo(_Rows(workload, with_id=with_id)).with_output_types(
        RowTypeConstraint.from_fields(fields)
    )
    return pipeline | beam.Create(counts) | made


def _shares(rows: int, parts: int) -> list[int]:
    return [rows * (part + 1) // parts - rows * part // parts for part in range(parts)]


def measured(
    pipeline: beam.Pipeline, scored: Any, sink: beam.PTransform[Any, Any], rows: int
) -> tuple[Run, MetricResults]:
    """Runs a pipeline to its end.

    Args:
        pipeline: The pipeline.
        scored: Its scored rows.
        sink: Counts them and adds up their answers: a ``Total``.
        rows: How many there must be.

    Returns:
        The run, and the job's metrics.
    """
    totals = scored | "Sink" >> sink | beam.WithKeys(0) | beam.GroupByKey()
    _ = totals | "Collect" >> beam.MapTuple(_collect)
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
