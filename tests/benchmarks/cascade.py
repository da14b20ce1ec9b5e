"""A cascade: a cheap model for all rows, and one that costs twenty times as much for one row in ten."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np
from sklearn.ensemble import RandomForestRegressor

from beam_ensembles.runtime.batching import DEFAULT_BATCH_SIZE
from beam_ensembles.transforms import RunEnsemble
from tests.benchmarks import comparisons, pipelines
from tests.benchmarks import workload as workloads
from tests.benchmarks.bare import Array
from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.python_ways import isolated
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.workload import BATCH, BENCH

HERE: Final = BENCH / "cascade"
TREES: Final = 256
TIMES: Final = 20
"""What the deep model costs: so many times the trees."""
SHARE: Final = 0.1
BUNDLE: Final = 50_000
"""Rows of the run whose batches are counted; it is one bundle."""
FULL: Final = 0.8
FASTER: Final = 5.0
KEPT: Final = 0.95
"""What is left of the rate where a condition holds for every row."""
SEED: Final = 11

ALL: Final = "both models on all rows"
KEEPS: Final = "a condition that keeps all"
CASCADE: Final = "one row in ten goes on"
WAITS: Final = "one row in ten goes on, max_wait"
ROWS: Final = {ALL: 16_384, CASCADE: 65_536, WAITS: 65_536}
OFTEN: Final = 5
"""How many times as often a condition is measured, which costs less than one run of a model differs from the next."""
CONDITION_ROWS: Final = {ALL: 4_096, KEEPS: 4_096}
"""To be measured ``OFTEN``."""
_DEEP: Final[Mapping[str, str]] = {
    ALL: "",
    KEEPS: 'when: "doubt >= 0", ',
    CASCADE: f'when: "doubt < {SHARE}", ',
    WAITS: f'when: "doubt < {SHARE}", batch: {{max_wait: 1}}, ',
}
_TEXT: Final = """
ensemble: cascade
inputs: {a: double, b: double, c: double, d: double, doubt: double}
nodes:
  cheap: {model: sklearn, uri: cheap.joblib, inputs: [a, b, c, d], outputs: {cheap: double}}
  deep: {model: sklearn, uri: deep.joblib, DEEPinputs: [a, b, c, d], outputs: {deep: double}}
outputs: [cheap, deep]
"""


class _Cascade:
    """The rows: four numbers, and one by which they go on."""

    name = "cascade"
    fields: Sequence[tuple[str, Any]] = tuple((name, float) for name in ("a", "b", "c", "d", "doubt"))

    def prepare(self) -> Array:
        """Trains the models and writes the ensembles, the same ones on every run."""
        HERE.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(SEED)
        values = random.normal(size=(2_000, 4))
        target = values[:, 0] * values[:, 1] + np.sin(values[:, 2])
        for name, times in (("cheap", 1), ("deep", TIMES)):
            forest = RandomForestRegressor(TREES, max_depth=8, random_state=SEED + times).fit(values, target)
            forest.estimators_ *= times
            forest.n_estimators *= times
            joblib.dump(forest, HERE / f"{name}.joblib")
        for way, deep in _DEEP.items():
            _file(way).write_text(_TEXT.replace("DEEP", deep), encoding="utf-8")
        return np.column_stack([random.normal(size=(BATCH, 4)), random.permutation(BATCH) / BATCH])

    def as_fields(self, values: list[float]) -> dict[str, Any]:
        """Gives one field a number."""
        return dict(zip("abcd", values, strict=False)) | {"doubt": values[4]}

    def answer(self, row: Any) -> float:
        """Gives what the cascade answers."""
        return float(row.deep if row.doubt < SHARE else row.cheap)


_WORKLOAD: Final = _Cascade()


def _file(way: str) -> Path:
    return HERE / f"{list(_DEEP).index(way)}.yaml"


def run(way: str, rows: int) -> Run:
    """Scores rows in one of the ways."""
    return _run(way, rows)[0]


def rows_a_batch(way: str, rows: int) -> float:
    """Scores rows in one of the ways; gives how many rows a batch of the deep model has on average."""
    _, metrics = _run(way, rows)
    (sizes,) = (
        one.committed
        for one in metrics.query()["distributions"]
        if (one.key.metric.namespace, one.key.metric.name) == ("cascade/deep", "inference_request_batch_size")
    )
    return float(sizes.mean)


def _run(way: str, rows: int) -> tuple[Run, Any]:
    return pipelines.run_pipeline(_WORKLOAD, rows, lambda read: read | RunEnsemble(_file(way)))


@contextlib.contextmanager
def ways(rows: Mapping[str, int]) -> Iterator[dict[str, Way]]:
    """Gives the ways to score the rows, each with the rows of a long run: those of ``ROWS``, or ``CONDITION_ROWS``."""
    _prepare()
    with contextlib.ExitStack() as processes:
        yield {
            name: Way(isolated(processes, functools.partial(run, name)), count, scores="cascade")
            for name, count in rows.items()
        }


@functools.cache
def _prepare() -> None:
    workloads.write_values(_WORKLOAD)


def of_condition(rates: Mapping[str, float]) -> Comparison:
    """Compares a condition that keeps all with none."""
    return _compared(rates, KEEPS, KEPT)


def compared(rates: Mapping[str, float]) -> Iterator[Comparison]:
    """Compares either cascade with both models on all rows, and its batches with full ones."""
    yield from (_compared(rates, way, FASTER) for way in (CASCADE, WAITS))
    for way in (CASCADE, WAITS):
        found = rows_a_batch(way, BUNDLE)
        yield Comparison(
            ensemble="cascade",
            caller=comparisons.PYTHON,
            what=way,
            against="full batches",
            ratio=found / DEFAULT_BATCH_SIZE,
            batch_rows=found,
            against_batch_rows=DEFAULT_BATCH_SIZE,
            target=FULL,
        )


def _compared(rates: Mapping[str, float], way: str, target: float) -> Comparison:
    return Comparison.of_rates("cascade", comparisons.PYTHON, way, rates[way], ALL, rates[ALL], target)
