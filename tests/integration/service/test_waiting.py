"""``batch.max_wait`` on real Prism: rows wait for those of other bundles, and none is late for it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult
from apache_beam.testing import test_stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.external_transform_provider import ExternalTransformProvider
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from apache_beam.transforms.window import FixedWindows, TimestampedValue
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble
from tests.support.prism import running_prism
from tests.support.service import RunningService
from tests.support.streams import WAITS, save_line

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])

AN_HOUR = 3_600
Rows = RowTypeConstraint.from_fields([("x", float)])


@pytest.fixture(scope="module")
def job_service() -> Iterator[str]:
    with running_prism() as address:
        yield address


@pytest.fixture
def options(job_service: str) -> PipelineOptions:
    flags = ["--runner=PortableRunner", f"--job_endpoint={job_service}", "--environment_type=LOOPBACK"]
    return PipelineOptions(flags)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_line(tmp_path / "line.joblib", 1)
    return tmp_path


def ensemble(folder: Path, max_wait: float) -> Path:
    file = folder / "waits.yaml"
    file.write_text(WAITS.replace("MAX_WAIT", str(max_wait)))
    return file


def as_rows(numbers: Any) -> Any:
    return numbers | "Rows" >> beam.Map(lambda x: beam.Row(x=float(x))).with_output_types(Rows)


def batch_sizes(result: PipelineResult) -> Any:
    (found,) = (
        one.committed
        for one in result.metrics().query()["distributions"]
        if (one.key.metric.namespace, one.key.metric.name) == ("waits/deep", "inference_request_batch_size")
    )
    return found


class Windows(beam.DoFn):
    def process(
        self, group: tuple[int, Any], window: Any = beam.DoFn.WindowParam
    ) -> Iterator[tuple[float, list[float]]]:
        yield float(window.start), sorted(group[1])


def grouped(rows: Any) -> Any:
    """Returns the rows of each window; rows that are late are dropped."""
    pairs = rows | "Pairs" >> beam.Map(lambda row: (0, row.x))
    return pairs | beam.GroupByKey() | "Windows" >> beam.ParDo(Windows())


def test_rows_that_wait_hold_the_watermark_and_are_not_late(folder: Path, options: PipelineOptions) -> None:
    """Each row is a bundle; the watermark follows it, and is far ahead when the last ones have waited long enough."""
    stream = test_stream.TestStream()
    for at in range(10):
        stream.add_elements([TimestampedValue(float(at), at)]).advance_watermark_to(at)
    stream.advance_watermark_to(50).advance_processing_time(6)
    stream.add_elements([TimestampedValue(float(at), at) for at in (61, 60, 62)]).advance_watermark_to(80)
    stream.advance_watermark_to_infinity()
    pipeline = beam.Pipeline(options=options)
    scored = as_rows(pipeline | stream) | RunEnsemble(ensemble(folder, 5))
    expected = [(float(at), [at + 0.0, at + 1.0]) for at in range(0, 10, 2)]
    windows = grouped(scored | beam.WindowInto(FixedWindows(2)))
    assert_that(windows, equal_to([*expected, (60.0, [60.0, 61.0]), (62.0, [62.0])]))
    result = pipeline.run()
    result.wait_until_finish()
    sizes = batch_sizes(result)
    assert (sizes.sum, sizes.count, sizes.max) == (13, 4, 4), (
        "4 + 4 + 2 that waited long enough + 3 at the end"
    )


def test_rows_wait_no_longer_than_their_window_and_the_job(folder: Path, options: PipelineOptions) -> None:
    stream = test_stream.TestStream()
    for at in range(12):
        stream.add_elements([TimestampedValue(float(at), at)]).advance_watermark_to(at)
    stream.advance_watermark_to_infinity()
    pipeline = beam.Pipeline(options=options)
    rows = as_rows(pipeline | stream) | beam.WindowInto(FixedWindows(6))
    assert_that(
        grouped(rows | RunEnsemble(ensemble(folder, AN_HOUR))),
        equal_to([(0.0, [at + 0.0 for at in range(6)]), (6.0, [at + 0.0 for at in range(6, 12)])]),
    )
    result = pipeline.run()
    result.wait_until_finish()
    sizes = batch_sizes(result)
    assert (sizes.sum, sizes.count, sizes.max) == (12, 4, 4), "4 + 2 in either window"


def test_a_rows_wait_ends_by_the_clock(folder: Path, options: PipelineOptions) -> None:
    """A stream without an end in sight: five rows in each second, which wait two seconds for a hundred others."""
    file = ensemble(folder, 2)
    file.write_text(file.read_text().replace("max: 4", "max: 100"))
    start = time.time()
    pipeline = beam.Pipeline(options=options)
    numbers = pipeline | PeriodicImpulse(start, start + 10, 0.2) | beam.Map(lambda at: float(at))
    scored = as_rows(numbers) | RunEnsemble(file)
    assert_that(scored | "X" >> beam.Map(lambda row: row.x >= start), equal_to([True] * 50))
    result = pipeline.run()
    result.wait_until_finish()
    sizes = batch_sizes(result)
    assert 2 <= sizes.count < 50, (
        "at the end of the stream all go, so that some went before, and not one by one"
    )


def test_rows_wait_in_a_pipeline_of_another_sdk(
    folder: Path, options: PipelineOptions, service: RunningService
) -> None:
    """What the service answers is all that the runner and the worker have: states and timers are in it."""
    provider: Any = ExternalTransformProvider(
        service.address, urn_pattern=r"^beam:schematransform:io.github.beamensembles:([\w-]+):(\w+)$"
    )
    stream = test_stream.TestStream()
    for at in range(10):
        stream.add_elements([TimestampedValue(float(at), at)]).advance_watermark_to(at)
    stream.advance_watermark_to_infinity()
    pipeline = beam.Pipeline(options=options)
    digest = hashlib.sha256((folder / "line.joblib").read_bytes()).hexdigest()
    spec = ensemble(folder, AN_HOUR).read_text().replace("joblib", f"joblib\n    sha256: {digest}")
    scored = as_rows(pipeline | stream) | provider.RunEnsembleV1(spec=spec, base_uri=str(folder))
    windows = grouped(scored | beam.WindowInto(FixedWindows(5)))
    assert_that(
        windows, equal_to([(0.0, [at + 0.0 for at in range(5)]), (5.0, [at + 0.0 for at in range(5, 10)])])
    )
    result = pipeline.run()
    result.wait_until_finish()
    assert batch_sizes(result).count == 3, "4 + 4 + 2 at the end"
