"""The logs of the service and of its workers: a line a request, and nothing of the rows, whatever goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.external_transform_provider import ExternalTransformProvider

from tests.support.patience import wait_until
from tests.support.prism import running_prism
from tests.support.service import RunningService, running_service

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])

OURS = r"^beam:schematransform:io.github.beamensembles:([\w-]+):(\w+)$"
MARKER = "Zyxwvut98765"
SPEC = """
ensemble: quiet
inputs: {text: string, x: "array<double>[2]"}
nodes:
  known: {apply: labels, labels: [a, b], on_error: nullify, inputs: [code], outputs: {known: {}}}
  code: {apply: sql, select: {code: "LENGTH(text)"}}
  refused:
    apply: python
    function: tests.support.refusing_function.refuse
    retries: 1
    RUNS
    inputs: [text]
    outputs: {refused: string}
  number: {apply: sql, on_error: nullify, select: {number: "CAST(text AS BIGINT)"}}
  shadow:
    apply: python
    function: tests.support.refusing_function.refuse
    shadow_of: number
    inputs: [text]
    outputs: {shadow: int64}
outputs: [code, number, known, refused]
"""


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    flags = ["--log-format", "json", "--log-level", "debug", "--allow-code", "tests.support.*"]
    with running_service("--serve-loopback-worker", *flags) as running:
        yield running


@pytest.fixture(scope="module")
def options() -> Iterator[PipelineOptions]:
    with running_prism() as address:
        flags = ["--runner=PortableRunner", f"--job_endpoint={address}", "--environment_type=LOOPBACK"]
        yield PipelineOptions(flags)


def lines(service: RunningService, until: str) -> list[dict[str, Any]]:
    """Returns what is in the log once it holds a text; whatever is not a JSON object fails."""
    wait_until(lambda: until in service.log, lambda: f"{until!r} is in {service.log}")
    return [json.loads(line) for line in service.log.rpartition("\n")[0].splitlines()]


def score(service: RunningService, options: PipelineOptions, spec: str, **config: Any) -> None:
    provider = ExternalTransformProvider(service.address, urn_pattern=OURS)
    with beam.Pipeline(options=options) as pipeline:
        rows = pipeline | beam.Create([[1.0, 2.0], [1.0]])
        typed = rows | beam.Map(lambda x: beam.Row(text=MARKER, x=x)).with_output_types(
            beam.typehints.row_type.RowTypeConstraint.from_fields(
                [("text", str), ("x", beam.typehints.Sequence[float])]
            )
        )
        scored = typed | provider.RunEnsembleV1(spec=spec, **config)
        if config:
            _ = scored["errors"] | beam.Map(lambda row: row.element.text)


def test_the_log_has_a_line_a_request_and_nothing_of_the_rows(
    service: RunningService, options: PipelineOptions
) -> None:
    isolated = SPEC.replace("RUNS", "isolate: process\n    on_error: nullify")
    score(service, options, isolated, error_handling={"output": "errors"})
    with pytest.raises(RuntimeError) as failure:
        score(service, options, SPEC.replace("    RUNS\n", ""))
    said = str(failure.value)
    assert "ensemble 'quiet' could not score a row: [" in said
    assert MARKER not in said, "the runner logs it"
    found = lines(service, "could not score a row")
    assert MARKER not in service.log
    requests = [line for line in found if "outcome" in line]
    assert [(line["ensemble"], line["outcome"]) for line in requests] == [("quiet", "expanded")] * 2
    assert all(line["seconds"] > 0 and "grpc-python" in line["client"] for line in requests)
    others = [line for line in found if line["logger"] == "someones.own"]
    assert {(line["ensemble"], line["node"]) for line in others} >= {
        ("quiet", "refused"),
        ("quiet", "shadow"),
    }
    assert all(line["worker"] for line in others)
    (failed,) = [line for line in found if "could not score a row" in line["message"]]
    assert failed["ensemble"] == "quiet"
    assert failed["level"] == "ERROR"


def test_a_refused_request_has_its_codes(service: RunningService) -> None:
    provider = ExternalTransformProvider(service.address, urn_pattern=OURS)
    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create([1.0]) | beam.Map(lambda x: beam.Row(x=float(x)))
    with pytest.raises(RuntimeError, match="missing_field"):
        _ = rows | provider.RunEnsembleV1(spec=SPEC.replace("    RUNS\n", ""))
    line = [line for line in lines(service, "refused '") if line.get("outcome") == "refused"][-1]
    assert (line["ensemble"], line["codes"]) == ("quiet", "missing_field,field_type")
    assert "\n" not in line["message"]
