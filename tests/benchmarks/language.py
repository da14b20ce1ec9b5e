"""What the language itself costs: cheap nodes, and members beyond their models, in processor time of one batch."""

from __future__ import annotations

import dataclasses
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
from tests.benchmarks import comparisons
from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.workload import BATCH, BENCH

HERE: Final = BENCH / "language"
MEMBERS: Final = 16
MICROSECONDS_A_ROW: Final = 10.0
GROWTH: Final = 2.0
BATCHES: Final = 50
"""Batches of one measurement."""
SEED: Final = 5

_FOUR: Final = """
  sql_@: {apply: sql, select: {a_@: "x * @ + y", b_@: "CASE WHEN x > y THEN x ELSE y END"}}
  mean_@: {combine: mean, inputs: [a_@, b_@, x], outputs: {c_@: double}}
  soft_@: {apply: softmax, inputs: [p], outputs: {q_@: "array<double>[10]"}}
  vote_@: {combine: soft_vote, inputs: [p, q_@], outputs: {l_@: {from: label}, k_@: {from: confidence}}}
"""
CHEAP: Final = 'ensemble: cheap\ninputs: {x: double, y: double, p: "array<double>[10]"}\nnodes:' + "".join(
    _FOUR.replace("@", str(number)) for number in range(1, 6)
)


@dataclasses.dataclass(frozen=True)
class _Stage:
    """An ensemble of one stage, loaded, and a batch of its rows."""

    code: StageCode
    loaded: LoadedStage
    values: list[dict[str, Any]]

    @classmethod
    def of(cls, text: str, values: list[dict[str, Any]]) -> _Stage:
        file = HERE / "ensemble.yaml"
        file.write_text(text, encoding="utf-8")
        graph = graph_of_file(file)
        kept, added = (name for name, _ in graph.spec.inputs), (name for name, _ in graph.outputs)
        inputs = tuple((name, name, type_) for name, type_ in graph.columns_read)
        form = ObjectRows(tuple(kept), tuple(added))
        code = StageCode(graph.spec.name, graph.nodes, inputs, graph.outputs, form)
        return cls(code, LoadedStage(code, this_machine()), values)

    def rows(self) -> RowSource:
        """Gives the batch, of rows made just now, as a pipeline's are: still in the processor's cache."""
        return RowSource(RowBatch([beam.Row(**fields) for fields in self.values]))

    def nodes(self) -> float:
        """Runs the nodes; gives the seconds of that alone."""
        columns = self.rows().read(self.code)
        start = time.process_time()
        self.loaded.run(columns)
        return time.process_time() - start

    def whole(self) -> float:
        """Makes columns of the rows, runs the nodes and makes rows of the columns; gives the seconds."""
        rows = self.rows()
        start = time.process_time()
        columns = rows.read(self.code)
        self.loaded.run(columns)
        rows.finish(self.code, columns)
        return time.process_time() - start


class _Watched(LogisticRegression):  # type: ignore[misc] # scikit-learn says no types
    """A regression that says how long it took."""

    seconds = 0.0

    def predict_proba(self, X: Any) -> Any:
        """Predicts as any other; adds the seconds to those of all."""
        start = time.process_time()
        found = super().predict_proba(X)
        _Watched.seconds += time.process_time() - start
        return found


def measure(rounds: int) -> list[Comparison]:
    """Measures both, each some rounds."""
    return [of_cheap_nodes(rounds), of_members(rounds)]


def of_cheap_nodes(rounds: int) -> Comparison:
    """Measures twenty nodes that cost next to nothing themselves."""
    HERE.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    numbers, shares = random.random((BATCH, 2)).tolist(), random.dirichlet(np.ones(10), BATCH).tolist()
    rows = [{"x": x, "y": y, "p": p} for (x, y), p in zip(numbers, shares, strict=True)]
    (seconds,) = _medians([_Stage.of(CHEAP, rows).nodes], rounds)
    allowed = MICROSECONDS_A_ROW * 1e-6 * BATCH
    return Comparison(
        ensemble="twenty cheap nodes",
        caller=comparisons.PYTHON,
        what=f"batch of {BATCH:,} rows",
        against=f"{MICROSECONDS_A_ROW:g} µs a row",
        ratio=seconds / allowed,
        seconds=seconds,
        against_seconds=allowed,
        target=1.0,
    )


def of_members(rounds: int) -> Comparison:
    """Measures what many members cost beyond their models, against what one does."""
    HERE.mkdir(parents=True, exist_ok=True)
    flowers = load_iris()
    for at in range(MEMBERS):
        model = _Watched(C=1.0 + at, max_iter=500)
        joblib.dump(model.fit(flowers.data, flowers.target), HERE / f"{at}.joblib")
    rows = [{"x": row} for row in np.resize(flowers.data, (BATCH, 4)).tolist()]
    many, one = _medians([_beyond(MEMBERS, rows), _beyond(1, rows)], rounds)
    return Comparison(
        ensemble="vote",
        caller=comparisons.PYTHON,
        what=f"{MEMBERS} members, beyond the models",
        against="one member",
        ratio=many / one,
        seconds=many,
        against_seconds=one,
        target=GROWTH,
    )


def _beyond(members: int, rows: list[dict[str, Any]]) -> Callable[[], float]:
    """Gives what scores a batch and says how long that took, less the seconds that its models took within it."""
    stage = _Stage.of(_vote(members), rows)

    def beyond() -> float:
        _Watched.seconds = 0.0
        return stage.whole() - _Watched.seconds

    return beyond


def _vote(members: int) -> str:
    names = [f"p{at}" for at in range(members)]
    nodes = "".join(
        f"  m{at}: {{model: sklearn, uri: {at}.joblib, method: predict_proba, inputs: [x], "
        f'outputs: {{{name}: "array<double>[3]"}}}}\n'
        for at, name in enumerate(names)
    )
    vote = f"  vote: {{combine: soft_vote, inputs: [{', '.join(names)}], outputs: {{label: int64}}}}\n"
    return f'ensemble: vote\ninputs: {{x: "array<double>[4]"}}\nnodes:\n{nodes}{vote}outputs: [label]\n'


def _medians(ways: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """Measures ways in turns, so that each finds the processor's caches as the other has left them."""
    with counting():  # as in a worker: without a place for metrics, Beam looks for one each time
        for measure in ways:
            measure()
        turns = [[measure() for measure in ways] for _ in range(rounds * BATCHES)]
    return [statistics.median(of_way) for of_way in zip(*turns, strict=True)]
