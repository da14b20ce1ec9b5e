"""The ways to score rows in Python, each over a number of rows; they run in processes of their own.

Pipelines run on Beam's in-process runner, which its default takes where it finds no Prism.
``main`` is a program that scores rows on a portable runner and prints the run.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms.window import GlobalWindows
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble
from tests.benchmarks import workload as workloads
from tests.benchmarks.members import base
from tests.benchmarks.sampling import Run
from tests.benchmarks.workload import ARROW_BATCH, Workload

_NAMESPACE: Final = "bench"
_SCALE: Final = 1_000_000
"""Counters count whole numbers: answers are summed in millionths."""
_REPEATS: Final = 64
"""How often the Parquet file, which is read again and again, has each of the different rows."""


class _Rows(beam.DoFn):
    """Yields that many rows of a workload's values, which are in a file: nothing is pickled into the pipeline."""

    def __init__(self, workload: Workload, *, with_id: bool) -> None:
        self._workload, self._with_id = workload, with_id

    def process(self, rows: int) -> Iterator[Any]:
        values = self._workload.rows()
        if self._with_id:
            for id_ in range(rows):
                yield beam.Row(id=id_, **values[id_ % len(values)])
        else:
            for at in range(rows):
                yield beam.Row(**values[at % len(values)])


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


class _Sink(beam.DoFn):
    """Counts scored rows and adds up their answers.

    The totals of each bundle go to a next step, as in a sink that writes files. While a step without a next one runs,
    Prism 2.77 keeps a core busy with waiting: so that one comes once, when all bundles have ended.
    """

    def __init__(self, answer_of: Callable[[Any], float]) -> None:
        self._answer_of = answer_of

    def start_bundle(self) -> None:
        self._count, self._sum = 0, 0.0

    def process(self, row: Any) -> None:
        self._count += 1
        self._sum += self._answer_of(row)

    def finish_bundle(self) -> Iterator[Any]:
        yield GlobalWindows.windowed_value((self._count, self._sum))


class _ArrowSink(_Sink):
    """Does that with record batches."""

    def process(self, batch: pa.RecordBatch) -> None:
        self._count += len(batch)
        self._sum += self._answer_of(batch)


def _collect(_: int, totals: Iterable[tuple[int, float]]) -> None:
    for count, answers in totals:
        Metrics.counter(_NAMESPACE, "rows").inc(count)
        Metrics.counter(_NAMESPACE, "answers").inc(round(answers * _SCALE))


def _second_class(row: Any) -> float:
    return float(row.proba[1])


def run_ensemble(name: str, rows: int) -> Run:
    """Scores rows with the ensemble."""
    workload = workloads.load(name)
    return run_pipeline(workload, rows, lambda read: read | RunEnsemble(workload.ensemble), with_id=True)[0]


def run_hand_wired(name: str, rows: int) -> Run:
    """Scores rows with RunInference, a join and a function that combines."""
    workload = workloads.load(name)

    def score(read: Any) -> Any:
        features = read | "Features" >> beam.Map(lambda row: (row.id, workload.features(row)))
        found = {
            name: features | name >> base.RunInference(base.KeyedModelHandler(handler))
            for name, handler in workload.handlers().items()
        }
        if len(found) > 1:
            joined = found | beam.CoGroupByKey() | beam.MapTuple(lambda id_, all_: (id_, {
                name: prediction for name, (prediction,) in all_.items()
            }))  # fmt: skip
        else:  # the prediction of the only member holds all that there is of its row
            ((name, alone),) = found.items()
            joined = alone | "Group" >> beam.MapTuple(lambda id_, prediction: (id_, {name: prediction}))
        return joined | "Combine" >> beam.MapTuple(
            lambda id_, all_: beam.Row(id=id_, **workload.joined(all_))
        )

    return run_pipeline(workload, rows, score, with_id=True)[0]


def run_one_node(name: str, rows: int) -> Run:
    """Scores rows with an ensemble of one model; without ids, which RunInference of unkeyed rows loses."""
    workload = workloads.load(name)
    return run_pipeline(workload, rows, lambda read: read | RunEnsemble(workload.one_node), _second_class)[0]


def run_inference(name: str, rows: int) -> Run:
    """Scores the same rows with that model in RunInference."""
    workload = workloads.load(name)
    fields, handler = list(workload.fields), workload.handlers()[workload.one_node_member or ""]

    def answered(prediction: Any) -> Any:
        example = prediction.example.tolist()
        given = dict(zip(fields, example, strict=True)) if len(fields) > 1 else {fields[0]: example}
        return beam.Row(**given, proba=prediction.inference.tolist())

    def score(read: Any) -> Any:
        features = read | "Features" >> beam.Map(workload.features)
        return features | base.RunInference(handler) | "Rows" >> beam.Map(answered)

    return run_pipeline(workload, rows, score, _second_class)[0]


def run_arrow(name: str, rows: int) -> Run:
    """Scores rows that are in Arrow already, from a Parquet file."""
    workload = workloads.load(name)
    file = workload.parquet_file
    if not file.exists():
        table = pa.concat_tables([workload.table()] * _REPEATS)
        table = table.add_column(0, "id", pa.array(np.arange(len(table))))
        pq.write_table(table, file, row_group_size=len(table))
    pipeline = beam.Pipeline(runner=FnApiRunner())
    read = pipeline | beam.Create([rows]) | beam.ParDo(_Batches(file)).with_output_types(pa.RecordBatch)
    scored = read | RunEnsemble(workload.ensemble).with_arrow_schema(pq.read_schema(file))
    return _run(pipeline, scored, _ArrowSink(workload.sum_of_answers), rows)[0]


def run_loop(name: str, rows: int) -> Run:
    """Calls the models alone, with the batches that each takes."""
    workload = workloads.load(name)
    return _loop(workload, workload.columns(), workload.rows_at_once, rows)


def run_large_loop(name: str, rows: int) -> Run:
    """Calls the models alone, with batches as large as those of the clients."""
    workload = workloads.load(name)
    times = max(ARROW_BATCH // workload.different, 1)
    columns = {name: np.concatenate([values] * times) for name, values in workload.columns().items()}
    return _loop(workload, columns, ARROW_BATCH, rows)


def _loop(workload: Workload, columns: workloads.Columns, batch_rows: int, rows: int) -> Run:
    score, batches = workload.load(), list(workloads.batches(columns, batch_rows))
    total, start = 0.0, time.perf_counter()
    for _ in range(rows // len(next(iter(columns.values())))):
        for batch in batches:
            total += float(workload.answers(score(batch)).sum())
    return Run(rows, time.perf_counter() - start, total / rows)


def run_pipeline(
    workload: Workload,
    rows: int,
    score: Callable[[Any], Any],
    answer_of: Callable[[Any], float] | None = None,
    *,
    with_id: bool = False,
    parts: int = 1,
    flags: Sequence[str] | None = None,
) -> tuple[Run, Any]:
    """Scores rows in a pipeline.

    Args:
        workload: The rows.
        rows: How many.
        score: Scores a PCollection of them.
        answer_of: The number of a scored row by which ways are compared; None: that of the workload.
        with_id: Whether they have an id.
        parts: In how many parts they are made; more than one are spread over the workers.
        flags: Those of Beam's SDK for another runner; None: it runs in this process.

    Returns:
        The run, and the job's metrics.
    """
    gc.collect()
    in_process = {"runner": FnApiRunner()} if flags is None else {"options": PipelineOptions(flags)}
    pipeline = beam.Pipeline(**in_process)
    fields = [("id", int)] * with_id + list(workload.fields.items())
    made = beam.ParDo(_Rows(workload, with_id=with_id)).with_output_types(
        RowTypeConstraint.from_fields(fields)
    )
    counts = [rows * (part + 1) // parts - rows * part // parts for part in range(parts)]
    scored = score(pipeline | beam.Create(counts) | made)
    return _run(pipeline, scored, _Sink(answer_of or workload.answer_of), rows)


def _run(pipeline: beam.Pipeline, scored: Any, sink: _Sink, rows: int) -> tuple[Run, Any]:
    totals = scored | "Sink" >> beam.ParDo(sink) | beam.WithKeys(0) | beam.GroupByKey()
    _ = totals | "Collect" >> beam.MapTuple(_collect)
    start = time.perf_counter()
    result = pipeline.run()
    result.wait_until_finish()
    seconds = time.perf_counter() - start
    metrics = result.metrics().query()
    counters = {
        each.key.metric.name: each.result
        for each in metrics["counters"]
        if each.key.metric.namespace == _NAMESPACE
    }
    if counters["rows"] != rows:
        raise RuntimeError(f"{rows} rows went in, {counters['rows']} came out")
    return Run(rows, seconds, counters["answers"] / _SCALE / rows), metrics


RUNS: Final[Mapping[str, Callable[[str, int], Run]]] = {
    "bare loop": run_loop,
    "bare loop, large batches": run_large_loop,
    "python": run_ensemble,
    "python arrow": run_arrow,
    "python hand-wired": run_hand_wired,
    "ensemble of one node": run_one_node,
    "bare RunInference": run_inference,
}
"""What scores rows of the workload of a name, by caller."""


def main() -> None:
    """Scores rows as the flags say; those that it does not know are Beam's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--parts", type=int, default=1)
    known, flags = parser.parse_known_args()
    workload = workloads.load(known.workload)
    ensemble = RunEnsemble(workload.ensemble)
    done, _ = run_pipeline(
        workload, known.rows, lambda read: read | ensemble, with_id=True, parts=known.parts, flags=flags
    )
    print(json.dumps(dataclasses.asdict(done)))
