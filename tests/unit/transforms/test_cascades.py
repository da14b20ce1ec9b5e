"""Rows on which a model runs are put together to full batches; the others go on, and all keep their times."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.testing.util import assert_that
from apache_beam.transforms.window import FixedWindows, TimestampedValue
from apache_beam.typehints.row_type import RowTypeConstraint
from sklearn.linear_model import LinearRegression

from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from beam_ensembles.transforms import RunEnsemble

ROWS = 10_000
TEXT = """
ensemble: cascade
inputs: {x: double}
nodes:
  cheap: {model: sklearn, uri: cheap.joblib, inputs: [x], outputs: {cheap: double}}
  deep: {model: sklearn, uri: deep.joblib, when: "cheap < 0.1 OR cheap IS NULL", inputs: [x], outputs: {deep: double}}
  wide: {model: sklearn, uri: deep.joblib, when: "deep IS NULL AND cheap > 0.95", inputs: [x], outputs: {wide: double}}
outputs: [cheap, deep, wide]
"""


def line(slope: float, start: float) -> LinearRegression:
    model = LinearRegression()
    model.coef_, model.intercept_, model.n_features_in_ = np.array([slope]), start, 1
    return model


@pytest.fixture
def file(tmp_path: Path) -> Path:
    joblib.dump(line(1.0, 0.0), tmp_path / "cheap.joblib")
    joblib.dump(line(10.0, 1.0), tmp_path / "deep.joblib")
    (tmp_path / "cascade.yaml").write_text(TEXT)
    return tmp_path / "cascade.yaml"


def expected(x: float) -> tuple[float, float | None, float | None]:
    deep = 10 * x + 1
    return x, deep if x < 0.1 else None, deep if x > 0.95 else None


Rows = RowTypeConstraint.from_fields([("x", float)])
VALUES = np.random.default_rng(3).random(ROWS).tolist()


def run(make: Callable[[beam.Pipeline], None]) -> dict[tuple[str, str], Any]:
    pipeline = beam.Pipeline()
    make(pipeline)
    result = pipeline.run()
    result.wait_until_finish()
    metrics = result.metrics().query()
    found = [*metrics["counters"], *metrics["distributions"]]
    return {(one.key.metric.namespace, one.key.metric.name): one.committed for one in found}


def check_rows(found: list[Any]) -> None:
    assert len(found) == ROWS
    for row in found:
        got = (row.cheap, row.deep, row.wide)
        assert got == pytest.approx(expected(row.x)), row


def test_the_deep_model_gets_full_batches(file: Path) -> None:
    def make(pipeline: beam.Pipeline) -> None:
        rows = pipeline | beam.Create([beam.Row(x=x) for x in VALUES], reshuffle=False)
        assert_that(rows | RunEnsemble(file), check_rows)

    metrics = run(make)
    deep = sum(x < 0.1 for x in VALUES)
    assert metrics["cascade/deep", "num_inferences"] == deep
    assert metrics["cascade/deep", "skipped_rows"] == ROWS - deep
    sizes = metrics["cascade/deep", "inference_request_batch_size"]
    assert sizes.sum == deep
    assert (sizes.count, sizes.max) == (math.ceil(deep / 1024), 1024), "all but the last are full"


def test_times_and_windows_stay(file: Path) -> None:
    class Times(beam.DoFn):
        def process(
            self, row: Any, time: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
        ) -> Any:
            yield row, float(time), float(window.start)

    values = VALUES[:500]

    def check(found: list[Any]) -> None:
        assert len(found) == len(values)
        times = {x: at for at, x in enumerate(values)}
        for row, time, start in found:
            assert (time, start) == (times[row.x], times[row.x] // 100 * 100)
            assert (row.cheap, row.deep, row.wide) == pytest.approx(expected(row.x))

    def make(pipeline: beam.Pipeline) -> None:
        timed = [TimestampedValue(beam.Row(x=x), at) for at, x in enumerate(values)]
        rows = (
            pipeline | beam.Create(timed, reshuffle=False) | beam.Map(lambda row: row).with_output_types(Rows)
        )
        windowed = rows | beam.WindowInto(FixedWindows(100))
        assert_that(windowed | RunEnsemble(file) | beam.ParDo(Times()), check)

    run(make)


def test_times_stay_in_the_global_window_too(file: Path) -> None:
    class Times(beam.DoFn):
        def process(self, row: Any, time: Any = beam.DoFn.TimestampParam) -> Any:
            yield row.x, float(time)

    values = VALUES[:3000]

    def check(found: list[Any]) -> None:
        assert sorted(found) == sorted((x, float(at)) for at, x in enumerate(values))

    def make(pipeline: beam.Pipeline) -> None:
        timed = [TimestampedValue(beam.Row(x=x), at) for at, x in enumerate(values)]
        rows = (
            pipeline | beam.Create(timed, reshuffle=False) | beam.Map(lambda row: row).with_output_types(Rows)
        )
        assert_that(rows | RunEnsemble(file) | beam.ParDo(Times()), check)

    run(make)


def test_record_batches_are_parted_too(file: Path) -> None:
    schema = pa.schema([("x", pa.float64()), ("kept", pa.string())])
    parts = [VALUES[at : at + 700] for at in range(0, ROWS, 700)]
    batches = [pa.record_batch([part, [str(x) for x in part]], schema=schema) for part in parts]

    def check(found: list[pa.RecordBatch]) -> None:
        rows = pa.Table.from_batches(found).to_pylist()
        assert len(rows) == ROWS
        for row in rows:
            assert row["kept"] == str(row["x"])
            assert (row["cheap"], row["deep"], row["wide"]) == pytest.approx(expected(row["x"]))

    def make(pipeline: beam.Pipeline) -> None:
        elements = pipeline | beam.Create(batches, reshuffle=False)
        assert_that(elements | RunEnsemble(file).with_arrow_schema(schema), check)

    assert run(make)["cascade/deep", "num_inferences"] == sum(x < 0.1 for x in VALUES)


def test_bad_rows_come_out_of_every_stage(file: Path) -> None:
    bad = [*VALUES[:2000], None, float("nan"), -float("inf")]

    def check_errors(found: list[Any]) -> None:
        assert sorted((row.node, row.code) for row in found) == [
            ("", "null_value"),
            ("cheap", "model_error"),
            ("cheap", "model_error"),
        ]

    def check_good(found: list[Any]) -> None:
        assert len(found) == 2000

    def make(pipeline: beam.Pipeline) -> None:
        rows = pipeline | beam.Create([beam.Row(x=x) for x in bad], reshuffle=False)
        scored, errors = rows | RunEnsemble(file).with_errors()
        assert_that(errors, check_errors, label="errors")
        assert_that(scored, check_good, label="scored")

    run(make)


def test_the_plain_handler_runs_it_fused(file: Path) -> None:
    handler = EnsembleModelHandler(file)
    rows = [beam.Row(x=x) for x in VALUES[:100]]
    for row, result in zip(rows, handler.run_inference(rows, handler.load_model()), strict=True):
        found = result.inference
        assert (found.cheap, found.deep, found.wide) == pytest.approx(expected(row.x))


def test_stages_of_other_resources_take_batches_over(file: Path) -> None:
    text = TEXT.replace(
        ", inputs: [x], outputs: {wide: double}",
        ", resources: {min_ram: 1GB}, inputs: [x], outputs: {wide: double}",
    )
    file.write_text(text)

    def make(pipeline: beam.Pipeline) -> None:
        rows = pipeline | beam.Create([beam.Row(x=x) for x in VALUES], reshuffle=False)
        assert_that(rows | RunEnsemble(file), check_rows)
        proto = pipeline.to_runner_api()
        hints = {
            transform.unique_name: dict(
                proto.components.environments[transform.environment_id].resource_hints
            )
            for transform in proto.components.transforms.values()
            if transform.environment_id and "Stage(cascade/wide)" in transform.unique_name
        }
        assert hints
        assert all("beam:resources:min_ram_bytes:v1" in found for found in hints.values()), hints

    run(make)
