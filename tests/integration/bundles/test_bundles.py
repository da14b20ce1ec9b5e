"""A bundle from a Python pipeline through the real service and Prism, to workers that share nothing with the first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.external_transform_provider import ExternalTransformProvider

from tests.support.bundled import ROWS, Bundled, running
from tests.support.prism import running_prism

OURS = r"^beam:schematransform:io.github.beamensembles:([\w-]+):(\w+)$"

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundled]:
    with running(tmp_path_factory.mktemp("bundled")) as found:
        yield found


@pytest.fixture
def options() -> Iterator[PipelineOptions]:
    with running_prism() as address:
        flags = ["--runner=PortableRunner", f"--job_endpoint={address}", "--environment_type=LOOPBACK"]
        yield PipelineOptions(flags)


def _rows(pipeline: beam.Pipeline) -> Any:
    return (
        pipeline
        | beam.Create([(weight, length) for weight, length, _ in ROWS])
        | beam.Map(lambda row: beam.Row(weight=float(row[0]), length=float(row[1])))
    )


def test_workers_get_all_that_the_ensemble_needs_from_the_runner(
    bundled: Bundled, options: PipelineOptions
) -> None:
    transform = ExternalTransformProvider(bundled.service.address, urn_pattern=OURS).RunEnsembleV1
    aside = bundled.bundle.with_suffix(".aside")
    with beam.Pipeline(options=options) as pipeline:
        scored = _rows(pipeline) | transform(spec_uri=str(bundled.bundle))
        again = scored | "Again" >> transform(spec_uri=str(bundled.bundle), prefix="second_")
        greetings = again | beam.Map(lambda row: (row.weight, row.length, row.greeting, row.second_greeting))
        assert_that(greetings, equal_to([(*row, row[2]) for row in ROWS]))
        bundled.bundle.rename(aside)  # the runner has it by now, and nobody else
    aside.rename(bundled.bundle)
    (unpacked,) = Path(bundled.cache, "bundles").glob("*.unpacked")
    assert (unpacked / "files" / "models" / "size.joblib").is_file()
