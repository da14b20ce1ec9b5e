"""``beam-ensembles metrics`` asks a real Prism for the metrics of a Python pipeline's job."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble, ensemble_metrics
from beam_ensembles.cli.main import main
from tests.support.counted import COUNTS, FILE, NEW, ROWS, counts, has_counted_what_is_new
from tests.support.ports import free_ports

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])


class Done(NamedTuple):
    """What a call of the command came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def metrics(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*flags: str) -> Done:
        code = main(["metrics", *flags])
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def job(prism: str) -> str:
    """The id of a job that has finished, after a look at what the pipeline itself says of it."""
    flags = ["--runner=PortableRunner", f"--job_endpoint={prism}", "--environment_type=LOOPBACK"]
    pipeline = beam.Pipeline(options=PipelineOptions(flags))
    rows = pipeline | beam.Create([beam.Row(**row) for row in ROWS])
    rows | RunEnsemble(FILE)
    result = pipeline.run()
    result.wait_until_finish()
    (found,) = ensemble_metrics(result)
    assert counts(found.as_data()) == COUNTS
    assert has_counted_what_is_new(found.as_data())
    return str(result._job_id)  # Beam's Python client calls all jobs "job"


def data(metrics: Any, prism: str, *flags: str) -> Any:
    done = metrics("--job-endpoint", prism, "--json", *flags)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_the_job_is_listed(metrics: Any, prism: str, job: str) -> None:
    assert {"id": job, "name": "job", "state": "DONE"} in data(metrics, prism)["jobs"]
    lines = metrics("--job-endpoint", prism).out.splitlines()
    assert [job, "DONE", "job"] in [line.split() for line in lines]


def test_its_nodes_have_counted_their_rows(metrics: Any, prism: str, job: str) -> None:
    (found,) = data(metrics, prism, "--job", job)["ensembles"]
    assert found["ensemble"] == "counted"
    assert counts(found) == COUNTS
    assert has_counted_what_is_new(found)


def test_people_get_the_table(metrics: Any, prism: str, job: str) -> None:
    done = metrics("--job-endpoint", prism, "--job", job)
    title, headings, *lines = done.out.splitlines()
    assert (done.code, title) == (0, "ensemble 'counted'")
    assert headings.split()[:4] == ["node", "answered", "failed", "skipped"]
    of_nodes, of_inputs = lines[: len(COUNTS)], lines[len(COUNTS) :]
    assert [line.split()[:4] for line in of_nodes] == [
        [name, *(str(count.get(key, 0)) for key in ("num_inferences", "failed_rows", "skipped_rows"))]
        for name, count in sorted(COUNTS.items())
    ]
    assert [line.split()[0] for line in of_inputs] == ["input", *sorted(NEW)]


def test_a_job_that_is_not_there_is_one_sentence(metrics: Any, prism: str, job: str) -> None:
    done = metrics("--job-endpoint", prism, "--job", f"{job}0")
    assert (done.code, done.out) == (1, "")
    assert f"knows no job '{job}0'; did you mean '{job}'?" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_server_that_is_not_there_is_one_sentence(metrics: Any) -> None:
    (port,) = free_ports(1)
    for flag, address in (("--job-endpoint", f"localhost:{port}"), ("--flink", f"http://localhost:{port}")):
        done = metrics(flag, address)
        assert (done.code, done.out) == (1, "")
        assert f"answers at '{address}'" in done.err
        assert len(done.err.splitlines()) == 1
