"""A server that dies in the middle of a run, on real Prism: no row is lost, none comes twice."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that
from apache_beam.transforms.external_transform_provider import ExternalTransformProvider

from tests.integration.servers.conftest import SETTINGS
from tests.support.mlserver import MLServer, running_mlserver
from tests.support.models import iris
from tests.support.service import RunningService, running_service

ROWS = 3_000
FIRST_ANSWERS = 40
OURS = r"^beam:schematransform:io.github.beamensembles:([\w-]+):(\w+)$"

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])


@pytest.fixture
def own_mlserver(models: dict[str, Any], tmp_path: Path) -> Iterator[MLServer]:
    """A server for one test to kill."""
    with running_mlserver(tmp_path, {"logistic": (models["logistic"], SETTINGS["logistic"])}) as server:
        yield server


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """A service whose ensembles may call servers of this machine."""
    with running_service("--serve-loopback-worker", "--allow-host", "localhost") as running:
        yield running


@pytest.fixture
def pipeline(prism: str) -> beam.Pipeline:
    flags = ["--runner=PortableRunner", f"--job_endpoint={prism}", "--environment_type=LOOPBACK"]
    return beam.Pipeline(options=PipelineOptions(flags))


def outcomes(pipeline: beam.Pipeline, service: RunningService, server: MLServer, retries: int) -> Any:
    """Adds an ensemble that calls the server with four rows at a time; gives (row, label or code)."""
    node = {
        "model": "open_inference",
        "uri": server.uri("logistic"),
        "inputs": ["x"],
        "outputs": {"label": {"from": "predict", "type": "int64"}},
        "batch": {"max": 4},
        "retries": retries,
    }
    spec = {"ensemble": "remote", "inputs": {"x": "array<double>[4]"}, "nodes": {"logistic": node}}
    flowers = iris().x
    typed = beam.typehints.row_type.RowTypeConstraint.from_fields(
        [("id", int), ("x", beam.typehints.Sequence[float])]
    )
    rows = (
        pipeline
        | beam.Create(range(ROWS))
        | beam.Map(lambda at: beam.Row(id=at, x=flowers[at % len(flowers)].tolist())).with_output_types(typed)
    )
    provider: Any = ExternalTransformProvider(service.address, urn_pattern=OURS)
    both = rows | provider.RunEnsembleV1(spec=json.dumps(spec), error_handling={"output": "errors"})
    scored = both["output"] | "Scored" >> beam.Map(lambda row: (row.id, row.label))
    failed = both["errors"] | "Failed" >> beam.Map(lambda row: (row.element.id, row.code))
    return (scored, failed) | beam.Flatten()


def run_and_kill(pipeline: beam.Pipeline, server: MLServer, then: Callable[[], None]) -> int:
    """Runs a pipeline and kills the server once it has answered some calls; gives how many it had answered."""
    answered = []

    def watch() -> None:
        while (count := server.answered("logistic")) < FIRST_ANSWERS:
            time.sleep(0.01)
        server.kill()
        answered.append(count)
        then()

    watcher = threading.Thread(target=watch)
    watcher.start()
    pipeline.run().wait_until_finish()
    watcher.join()
    return answered[0]


def test_with_retries_every_row_is_scored(
    pipeline: beam.Pipeline, service: RunningService, own_mlserver: MLServer, models: dict[str, Any]
) -> None:
    labels = models["logistic"].predict(iris().x).tolist()
    wanted = [(at, labels[at % len(labels)]) for at in range(ROWS)]

    def check(found: list[Any]) -> None:
        assert sorted(found) == wanted

    assert_that(outcomes(pipeline, service, own_mlserver, retries=12), check)
    assert run_and_kill(pipeline, own_mlserver, own_mlserver.start) < ROWS / 4
    assert own_mlserver.answered("logistic") > 0


def test_without_them_every_row_is_scored_or_on_the_error_output(
    pipeline: beam.Pipeline, service: RunningService, own_mlserver: MLServer, models: dict[str, Any]
) -> None:
    labels = models["logistic"].predict(iris().x).tolist()

    def check(found: list[Any]) -> None:
        assert sorted(at for at, _ in found) == list(range(ROWS))
        scored = [(at, outcome) for at, outcome in found if outcome != "server_unreachable"]
        assert all(outcome == labels[at % len(labels)] for at, outcome in scored)
        assert 4 * FIRST_ANSWERS <= len(scored) < ROWS

    assert_that(outcomes(pipeline, service, own_mlserver, retries=0), check)
    run_and_kill(pipeline, own_mlserver, lambda: None)
