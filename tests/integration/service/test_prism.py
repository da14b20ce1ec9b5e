"""A Python pipeline that knows nothing of this project calls an ensemble through discovery, on real Prism."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import grpc
import joblib
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_expansion_api_pb2_grpc, beam_runner_api_pb2
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.external_transform_provider import ExternalTransformProvider

from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.types import parse_type
from tests.support.arrow_batches import read, record_batch, stream
from tests.support.certificates import make_certificate
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, schema
from tests.support.prism import running_prism
from tests.support.service import RunningService, running_service
from tests.support.where_it_runs import WhereItRuns

OURS = r"^beam:schematransform:io.github.beamensembles:([\w-]+):(\w+)$"


# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])


@pytest.fixture(scope="module")
def job_service() -> Iterator[str]:
    with running_prism() as address:
        yield address


@pytest.fixture
def provider(service: RunningService) -> Any:
    return ExternalTransformProvider(service.address, urn_pattern=OURS)


@pytest.fixture
def options(job_service: str) -> PipelineOptions:
    flags = ["--runner=PortableRunner", f"--job_endpoint={job_service}", "--environment_type=LOOPBACK"]
    return PipelineOptions(flags)


def test_the_provider_finds_the_transform_and_its_words(provider: Any) -> None:
    assert provider.get_available() == [
        ("RunEnsembleV1", "beam:schematransform:io.github.beamensembles:run_ensemble:v1")
    ]
    assert "ensemble" in provider.RunEnsembleV1.__doc__


def test_rows_go_in_and_come_out_with_the_answer(provider: Any, options: PipelineOptions) -> None:
    with beam.Pipeline(options=options) as pipeline:
        scored = (
            pipeline
            | beam.Create([(1.0, 3.0, "x"), (2.0, 2.5, "y")])
            | beam.Map(lambda row: beam.Row(a=float(row[0]), b=float(row[1]), name=str(row[2])))
            | provider.RunEnsembleV1(spec=MEAN_OF_TWO, prefix="its_")
            | beam.Map(lambda row: (row.name, row.a, row.its_m))
        )
        assert_that(scored, equal_to([("x", 1.0, 2.0), ("y", 2.0, 2.25)]))


def test_rows_in_arrow_batches_come_out_in_arrow_batches(provider: Any, options: PipelineOptions) -> None:
    fields = {"a": "double", "b": "double?", "name": "string"}
    values = [(1.0, 3.0, "x"), (2.0, None, "y"), (2.0, 2.5, "z")]
    announced = schema_of((name, parse_type(type_)) for name, type_ in fields.items())
    config = {"encoding": "arrow", "input_schema": announced.SerializeToString()}
    with beam.Pipeline(options=options) as pipeline:
        batches = pipeline | beam.Create([stream(record_batch(fields, values, [1, 2, 3]))])
        outputs = batches | provider.RunEnsembleV1(
            spec=MEAN_OF_TWO, error_handling={"output": "errors"}, **config
        )
        scored = outputs["output"] | "Scored" >> beam.Map(lambda data: read(data).to_pylist())
        errors = outputs["errors"] | "Errors" >> beam.Map(
            lambda data: [
                (row["element"]["name"], row["code"], row["__event_time"]) for row in read(data).to_pylist()
            ]
        )
        rows = [
            {"a": 1.0, "b": 3.0, "name": "x", "m": 2.0, "__event_time": 1},
            {"a": 2.0, "b": 2.5, "name": "z", "m": 2.25, "__event_time": 3},
        ]
        assert_that(scored, equal_to([rows]), label="scored")
        assert_that(errors, equal_to([[("y", "null_value", 2)]]), label="errors")


def test_two_ensembles_and_an_unrelated_transform_in_one_pipeline(
    provider: Any, options: PipelineOptions
) -> None:
    with beam.Pipeline(options=options) as pipeline:
        rows = (
            pipeline
            | beam.Create([(1.0, 3.0), (2.0, 2.5)])
            | beam.Map(lambda row: beam.Row(a=float(row[0]), b=float(row[1])))
        )
        first = rows | "First" >> provider.RunEnsembleV1(spec=MEAN_OF_TWO)
        second = first | "Second" >> provider.RunEnsembleV1(
            spec=MEAN_OF_TWO, columns={"b": "m"}, prefix="second_", pass_through=["a"]
        )
        total = second | beam.Map(lambda row: ("all", row.a + row.second_m)) | beam.CombinePerKey(sum)
        assert_that(total, equal_to([("all", 1.0 + 1.5 + 2.0 + 2.125)]))


def test_rows_that_cannot_be_scored_come_out_apart(provider: Any, options: PipelineOptions) -> None:
    spec = MEAN_OF_TWO.replace("{a: double, b: double}", '{a: "array<double>[2]", b: "array<double>[2]"}')
    spec = spec.replace("{m: double}", '{m: "array<double>[2]"}')
    with beam.Pipeline(options=options) as pipeline:
        outputs = (
            pipeline
            | beam.Create([[1.0, 2.0], [3.0]])
            | beam.Map(lambda a: beam.Row(a=list(map(float, a)), b=[0.0, 0.0])).with_output_types(
                beam.typehints.row_type.RowTypeConstraint.from_fields(
                    [("a", beam.typehints.Sequence[float]), ("b", beam.typehints.Sequence[float])]
                )
            )
            | provider.RunEnsembleV1(spec=spec, error_handling={"output": "errors"})
        )
        scored = outputs["output"] | "Scored" >> beam.Map(lambda row: tuple(row.m))
        errors = outputs["errors"] | "Errors" >> beam.Map(
            lambda row: (row.ensemble, row.code, tuple(row.element.a), row.stack)
        )
        assert_that(scored, equal_to([(0.5, 1.0)]), label="scored")
        assert_that(errors, equal_to([("pair", "wrong_length", (3.0,), "")]), label="errors")


def test_a_row_that_fails_its_bundle_fails_the_job_in_one_sentence(
    provider: Any, options: PipelineOptions, service: RunningService
) -> None:
    spec = MEAN_OF_TWO.replace("{a: double, b: double}", '{a: "array<double>[2]", b: double}')
    spec = spec.replace("[a, b]", "[a, a]").replace("{m: double}", '{m: "array<double>[2]"}')
    pipeline = beam.Pipeline(options=options)
    rows = pipeline | beam.Create([[3.0]]) | beam.Map(lambda a: beam.Row(a=[float(a[0])], b=0.0))
    typed = rows | beam.Map(lambda row: row).with_output_types(
        beam.typehints.row_type.RowTypeConstraint.from_fields(
            [("a", beam.typehints.Sequence[float]), ("b", float)]
        )
    )
    _ = typed | provider.RunEnsembleV1(spec=spec)
    with pytest.raises(RuntimeError) as failure:
        pipeline.run().wait_until_finish()
    said = str(failure.value)
    assert "ensemble 'pair' could not score a row: [wrong_length]" in said
    assert "Traceback" not in said
    assert "Traceback" not in service.log


def test_a_mistake_is_told_when_the_pipeline_is_made(provider: Any) -> None:
    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create([1.0]) | beam.Map(lambda a: beam.Row(a=float(a)))
    with pytest.raises(RuntimeError, match=r"\[missing_field\] input\.b: "):
        _ = rows | provider.RunEnsembleV1(spec=MEAN_OF_TWO)


def test_a_service_has_its_workers_run_stages_in_processes_of_their_own(
    options: PipelineOptions, tmp_path: Path
) -> None:
    joblib.dump(WhereItRuns(), tmp_path / "model.joblib")
    spec = f"""
ensemble: places
inputs: {{x: "array<double>[1]"}}
nodes:
  where:
    model: sklearn
    uri: {tmp_path}/model.joblib
    inputs: [x]
    outputs: {{at: "array<double>[2]"}}
outputs: [at]
"""
    announced = schema_of([("x", parse_type("array<double>[1]"))])
    config = {"encoding": "arrow", "input_schema": announced.SerializeToString()}
    batches = [stream(record_batch({"x": "array<double>[1]"}, [([1.0],)] * 64, range(64)))] * 8
    flags = ["--serve-loopback-worker", "--stage-processes", "2", "--trust", str(tmp_path)]
    with running_service(*flags) as service, beam.Pipeline(options=options) as pipeline:
        provider = ExternalTransformProvider(service.address, urn_pattern=OURS)
        scored = (
            pipeline | beam.Create(batches, reshuffle=False) | provider.RunEnsembleV1(spec=spec, **config)
        )
        places = (
            scored
            | beam.FlatMap(lambda data: [tuple(row["at"]) for row in read(data).to_pylist()])
            | beam.combiners.Count.PerElement()
            | beam.combiners.ToList()
        )
        assert_that(places, _are_two_of_one_worker)


def _are_two_of_one_worker(found: list[list[tuple[tuple[float, float], int]]]) -> None:
    (places,) = found
    processes, workers = ({place[at] for place, _ in places} for at in (0, 1))
    assert (len(processes), len(workers), sum(rows for _, rows in places)) == (2, 1, 512), places


def test_prism_reaches_the_workers_of_a_service_with_tls_and_a_token(
    job_service: str, tmp_path: Path
) -> None:
    """Prism speaks neither TLS to a pool, nor has it a token."""
    key, certificate = make_certificate(tmp_path, "localhost")
    token = tmp_path / "token"
    token.write_text("a-token-of-this-test")
    flags = ("--tls-cert", certificate, "--tls-key", key, "--token-file", token)
    request = like_go({"spec": MEAN_OF_TWO}, schema("rows", a="double", b="double"))
    with running_service("--serve-loopback-worker", *map(str, flags)) as running:
        address = f"localhost:{running.address.rpartition(':')[2]}"
        credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
        with grpc.secure_channel(address, credentials) as channel:
            answer = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel).Expand(
                request, metadata=(("authorization", f"Bearer {token.read_text()}"),)
            )
        external = [one for one in answer.components.environments.values() if "external" in one.urn]
        pool = beam_runner_api_pb2.ExternalPayload.FromString(external[0].payload).endpoint.url
        where = ["--environment_type=EXTERNAL", f"--environment_config={pool}"]
        options = PipelineOptions(["--runner=PortableRunner", f"--job_endpoint={job_service}", *where])
        with beam.Pipeline(options=options) as pipeline:
            counted = pipeline | beam.Create([1, 2, 3]) | beam.combiners.Count.Globally()
            assert_that(counted, equal_to([3]))
        assert "started worker" in running.log
