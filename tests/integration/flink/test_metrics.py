"""The metrics of a job on Flink: from Beam's job server, and from Flink's own REST API."""

from __future__ import annotations

import json
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble, ensemble_metrics
from beam_ensembles.cli.main import main
from scripts.pipelines import Servers
from tests.support.counted import COUNTS, FILE, ROWS, counts, has_counted_what_is_new
from tests.support.flink import Flink


@pytest.fixture(scope="module")
def job(on_flink: Servers) -> str:
    """The id of a job that has finished, after a look at what the pipeline itself says of it."""
    flags = [
        "--runner=PortableRunner",
        f"--job_endpoint={on_flink.runner}",
        "--environment_type=EXTERNAL",
        f"--environment_config={on_flink.workers}",
    ]
    pipeline = beam.Pipeline(options=PipelineOptions(flags))
    rows = pipeline | beam.Create([beam.Row(**row) for row in ROWS])
    rows | RunEnsemble(FILE)
    result = pipeline.run()
    result.wait_until_finish()
    (found,) = ensemble_metrics(result)
    assert counts(found.as_data()) == COUNTS
    assert has_counted_what_is_new(found.as_data())
    return str(result._job_id)


def data(capsys: pytest.CaptureFixture[str], *flags: str) -> Any:
    code = main(["metrics", "--json", *flags])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return json.loads(out)


def test_the_job_server_has_them(on_flink: Servers, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_flink.runner is not None
    at = ("--job-endpoint", on_flink.runner)
    assert (job, "DONE") in [(one["id"], one["state"]) for one in data(capsys, *at)["jobs"]]
    (found,) = data(capsys, *at, "--job", job)["ensembles"]
    assert counts(found) == COUNTS
    assert has_counted_what_is_new(found)


@pytest.mark.usefixtures("job")
def test_flink_itself_has_them(flink: Flink, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--flink", flink.cluster.rest.url)
    last = data(capsys, *at)["jobs"][-1]
    assert last["state"] == "FINISHED"
    (found,) = data(capsys, *at, "--job", last["id"])["ensembles"]
    assert counts(found) == COUNTS
    assert has_counted_what_is_new(found)
