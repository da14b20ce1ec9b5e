"""``batch.max_wait`` in Beam's in-process runner, where timers fire after the rows: rows stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import pyarrow as pa
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import FixedWindows, Sessions, TimestampedValue, WindowFn
from apache_beam.typehints.row_type import RowTypeConstraint
from sklearn.linear_model import LinearRegression

from beam_ensembles.transforms import RunEnsemble

TEXT = """
ensemble: waits
inputs: {x: double}
nodes:
  cheap: {model: sklearn, uri: line.joblib, inputs: [x], outputs: {cheap: double}}
  deep:
    model: sklearn
    uri: line.joblib
    when: "cheap >= 25"
    batch: {max: 7, max_wait: 0.5}
    inputs: [x]
    outputs: {deep: double}
outputs: [cheap, deep]
"""
WHEN = '    when: "cheap >= 25"\n'
Rows = RowTypeConstraint.from_fields([("x", float)])
Check = Callable[[list[Any]], None]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    joblib.dump(LinearRegression().fit([[0.0], [1.0]], [0.0, 10.0]), tmp_path / "line.joblib")
    (tmp_path / "waits.yaml").write_text(TEXT)
    return tmp_path / "waits.yaml"


class Times(beam.DoFn):
    def process(
        self, row: Any, time: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
    ) -> Any:
        yield row.x, row.deep, float(time), (float(window.start), float(window.end))


def timed(pipeline: beam.Pipeline, count: int) -> Any:
    values = [TimestampedValue(beam.Row(x=float(at)), at) for at in range(count)]
    return pipeline | beam.Create(values, reshuffle=False) | beam.Map(lambda row: row).with_output_types(Rows)


@pytest.mark.parametrize(
    ("when", "windows", "expected"),
    [
        (WHEN, FixedWindows(10), lambda at: (at // 10 * 10, at // 10 * 10 + 10)),
        ("", FixedWindows(25), lambda at: (at // 25 * 25, at // 25 * 25 + 25)),
        (WHEN, Sessions(0.5), lambda at: (at, at + 0.5)),
    ],
)
def test_rows_keep_their_times_and_windows(
    file: Path, when: str, windows: WindowFn, expected: Callable[[int], tuple[float, float]]
) -> None:
    file.write_text(TEXT.replace(WHEN, when))

    def check(found: list[Any]) -> None:
        wanted = [
            (at, None if when and at < 3 else pytest.approx(10.0 * at), at, expected(at)) for at in range(50)
        ]
        assert sorted(found) == wanted

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        rows = timed(pipeline, 50) | beam.WindowInto(windows)
        assert_that(rows | RunEnsemble(file) | beam.ParDo(Times()), check)


def test_bad_rows_go_on_at_once(file: Path) -> None:
    def check(found: list[Any]) -> None:
        assert [(row.node, row.code) for row in found] == [("cheap", "model_error")]

    def check_good(found: list[Any]) -> None:
        assert sorted(row.x for row in found) == [1.0, 3.0, 4.0]

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        values = [1.0, float("nan"), 3.0, 4.0]
        rows = pipeline | beam.Create([beam.Row(x=x) for x in values], reshuffle=False)
        scored, errors = rows | RunEnsemble(file).with_errors()
        assert_that(errors, check, label="errors")
        assert_that(scored, check_good, label="scored")


def test_record_batches_of_different_times_are_not_mixed(file: Path) -> None:
    class Elements(beam.DoFn):
        def process(self, batch: Any, time: Any = beam.DoFn.TimestampParam) -> Any:
            yield float(time), batch.column("x").to_pylist()

    def check(found: list[Any]) -> None:
        rows = sorted((x, time) for time, values in found for x in values)
        assert rows == [(float(at), at // 5) for at in range(50)]

    schema = pa.schema([("x", pa.float64())])
    batches = [
        TimestampedValue(pa.record_batch([pa.array(range(at, at + 5), pa.float64())], schema=schema), at // 5)
        for at in range(0, 50, 5)
    ]
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        elements = pipeline | beam.Create(batches, reshuffle=False)
        scored = elements | RunEnsemble(file).with_arrow_schema(schema)
        assert_that(scored | beam.ParDo(Elements()), check)


def test_beams_direct_runner_gets_no_timers(file: Path) -> None:
    """It would give the pipeline to its oldest runner, which fails on it."""
    with beam.Pipeline() as pipeline:
        scored = timed(pipeline, 20) | RunEnsemble(file) | beam.Map(lambda row: row.x)
        assert_that(scored, equal_to([float(at) for at in range(20)]))
        steps = [step.unique_name for step in pipeline.to_runner_api().components.transforms.values()]
    assert any(name.endswith("/Gather") for name in steps)
    assert not any("/Wait" in name for name in steps)
