"""What the language itself costs: cheap nodes, and members beyond their models, in processor time of one batch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import apache_beam as beam
import joblib
import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.columns.rows import ObjectRows
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.metrics.local import counting
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.runtime.row_source import RowSource
from tests.benchmarks.report import Line
from tests.benchmarks.workload import BATCH, BENCH

HERE: Final = BENCH / "language"
MEMBERS: Final = 16
SECONDS_PER_ROW: Final = 10e-6
GROWTH: Final = 2.0
BATCHES: Final = 50
"""Batches of one measurement."""

_FOUR: Final = """
  sql_@: {apply: sql, select: {a_@: "x * @ + y", b_@: "CASE WHEN x > y THEN x ELSE y END"}}
  mean_@: {combine: mean, inputs: [a_@, b_@, x], outputs: {c_@: double}}
  soft_@: {apply: softmax, inputs: [p], outputs: {q_@: "array<double>[10]"}}
  vote_@: {combine: soft_vote, inputs: [p, q_@], outputs: {l_@: {from: label}, k_@: {from: confidence}}}
"""
CHEAP: Final = 'ensemble: cheap\ninputs: {x: double, y: double, p: "array<double>[10]"}\nnodes:' + "".join(
    _FOUR.replace("@", str(number)) for number in range(1, 6)
)


class _Stage:
    """An ensemble of one stage, loaded, and a batch of its rows."""

    def __init__(self, text: str, values: list[dict[str, Any]]) -> None:
        file = HERE / "ensemble.yaml"
        file.write_text(text, encoding="utf-8")
        graph = graph_of_file(file)
        form = ObjectRows(
            tuple(name for name, _ in graph.spec.inputs), tuple(name for name, _ in graph.outputs)
        )
        inputs = tuple((name, name, type_) for name, type_ in graph.columns_read)
        self._code = StageCode(graph.spec.name, graph.nodes, inputs, graph.outputs, form)
        self._loaded, self._values = LoadedStage(self._code, this_machine()), values

    def _rows(self) -> RowSource:
        """Creates the batch, of rows made just now, as a pipeline's are: still in the processor's cache."""
        return RowSource(RowBatch([beam.Row(**fields) for fields in self._values]))

    def nodes(self) -> float:
        """Runs the nodes; returns the seconds of that alone."""
        columns = self._rows().read(self._code)
        start = time.process_time()
        self._loaded.run(columns)
        return time.process_time() - start

    def beyond_models(self) -> float:
        """Creates columns of the rows, runs the nodes and makes rows of the columns.

        Returns:
            The seconds, without those of its models in this very run.
        """
        rows, _Watched.seconds = self._rows(), 0.0
        start = time.process_time()
        columns = rows.read(self._code)
        self._loaded.run(columns)
        rows.finish(self._code, columns)
        return time.process_time() - start - _Watched.seconds


class _Watched(LogisticRegression):  # type: ignore[misc] # scikit-learn has no types
    """A regression that adds its time to that of all."""

    seconds = 0.0

    def predict_proba(self, X: Any) -> Any:
        start = time.process_time()
        found = super().predict_proba(X)
        _Watched.seconds += time.process_time() - start
        return found


def measure(rounds: int) -> list[Line]:
    """Measures both, so many rounds of them."""
    HERE.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(5)
    numbers, shares = random.random((BATCH, 2)).tolist(), random.dirichlet(np.ones(10), BATCH).tolist()
    rows = [{"x": x, "y": y, "p": p} for (x, y), p in zip(numbers, shares, strict=True)]
    (cheap,) = _medians([_Stage(CHEAP, rows).nodes], rounds)
    allowed = SECONDS_PER_ROW * BATCH

    flowers = load_iris()
    for at in range(MEMBERS):
        model = _Watched(C=1.0 + at, max_iter=500)
        joblib.dump(model.fit(flowers.data, flowers.target), HERE / f"{at}.joblib")
    rows = [{"x": row} for row in np.resize(flowers.data, (BATCH, 4)).tolist()]
    stages = [_Stage(_vote(members), rows) for members in (MEMBERS, 1)]
    many, one = _medians([stage.beyond_models for stage in stages], rounds)

    batch, beyond = f"batch of {BATCH:,} rows", f"{MEMBERS} members, beyond the models"
    return [
        Line("twenty cheap nodes", "python", batch, cheap, "s", "10 µs a row", allowed, at_most=1.0),
        Line("vote", "python", beyond, many, "s", "one member", one, at_most=GROWTH),
    ]


def _vote(members: int) -> str:
    nodes = "".join(
        f"  m{at}: {{model: sklearn, uri: {at}.joblib, method: predict_proba, inputs: [x], "
        f'outputs: {{p{at}: "array<double>[3]"}}}}\n'
        for at in range(members)
    )
    names = ", ".join(f"p{at}" for at in range(members))
    vote = f"  vote: {{combine: soft_vote, inputs: [{names}], outputs: {{label: int64}}}}\n"
    return f'ensemble: vote\ninputs: {{x: "array<double>[4]"}}\nnodes:\n{nodes}{vote}outputs: [label]\n'


def _medians(ways: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """Measures ways in turns, so that each finds the processor's caches as the other has left them."""
    with counting():  # as in a worker: without a place for metrics, Beam looks for one each time
        for measure in ways:
            measure()
        turns = [[measure() for measure in ways] for _ in range(rounds * BATCHES)]
    return [statistics.median(of_way) for of_way in zip(*turns, strict=True)]
