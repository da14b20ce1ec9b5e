"""A cascade: a cheap model for all rows, and one that costs twenty times as much for one row in ten."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import joblib
import numpy as np

from beam_ensembles.runtime.batching import DEFAULT_BATCH_SIZE
from beam_ensembles.transforms import RunEnsemble
from tests.benchmarks import pipelines
from tests.benchmarks.report import Line
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.ways import isolated
from tests.benchmarks.workload import BATCH, BENCH, Array, Workload

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
"""The share of the rate that remains if a condition holds for every row."""

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


class Cascade(Workload):
    """The rows: four numbers, and one by which they go on."""

    name = "cascade"
    fields: ClassVar = dict.fromkeys(("a", "b", "c", "d", "doubt"), float)

    def prepare(self) -> Array:
        """Trains the models and writes the ensembles, the same ones on every run."""
        from sklearn.ensemble import RandomForestRegressor

        HERE.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(11)
        values = random.normal(size=(2_000, 4))
        target = values[:, 0] * values[:, 1] + np.sin(values[:, 2])
        for name, times in (("cheap", 1), ("deep", TIMES)):
            forest = RandomForestRegressor(TREES, max_depth=8, random_state=11 + times).fit(values, target)
            forest.estimators_ *= times
            forest.n_estimators *= times
            joblib.dump(forest, HERE / f"{name}.joblib")
        for way, deep in _DEEP.items():
            _file(way).write_text(_TEXT.replace("DEEP", deep), encoding="utf-8")
        return np.column_stack([random.normal(size=(BATCH, 4)), random.permutation(BATCH) / BATCH])

    def answer_of(self, row: Any) -> float:
        return float(row.deep if row.doubt < SHARE else row.cheap)


_WORKLOAD: Final = Cascade()


def _file(way: str) -> Path:
    return HERE / f"{list(_DEEP).index(way)}.yaml"


def _scored(way: str, rows: int) -> tuple[Run, Any]:
    return pipelines.run_pipeline(_WORKLOAD, rows, lambda read: read | RunEnsemble(_file(way)))


def run(way: str, rows: int) -> Run:
    """Scores rows in one of the ways."""
    return _scored(way, rows)[0]


@contextlib.contextmanager
def ways(rows: Mapping[str, int]) -> Iterator[dict[str, Way]]:
    """Yields the ways to score the rows, each with the rows of a long run."""
    _WORKLOAD.write_values()
    with contextlib.ExitStack() as stack:
        yield {
            name: Way(isolated(stack, functools.partial(run, name)), count) for name, count in rows.items()
        }


def batches() -> Iterator[Line]:
    """Compares the batches of the deep model with full ones."""
    for way in (CASCADE, WAITS):
        _, metrics = _scored(way, BUNDLE)
        (rows,) = (
            one.committed.mean
            for one in metrics["distributions"]
            if one.key.metric.namespace == "cascade/deep"
            and one.key.metric.name == "inference_request_batch_size"
        )
        full = float(DEFAULT_BATCH_SIZE)
        yield Line("cascade", "python", way, float(rows), "rows a batch", "full batches", full, at_least=FULL)
