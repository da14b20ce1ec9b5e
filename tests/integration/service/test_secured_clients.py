"""Clients of a real service that requires TLS and a token: the command line, and a Python pipeline on Prism."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.external_transform_provider import ExternalTransformProvider

from beam_ensembles import ExpansionService
from beam_ensembles.cli.main import main
from beam_ensembles.connections import CannotConnect
from tests.support.bundled import ROWS
from tests.support.prism import running_prism
from tests.support.secured import Secured, running

OURS = r"^beam:schematransform:io.github.beamensembles:([\w-]+):(\w+)$"

# Beam 2.77's Python client occasionally hangs on a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running(tmp_path_factory.mktemp("secured")) as found:
        yield found


def _service(secured: Secured, **changed: Any) -> ExpansionService:
    given = {
        "tls_ca": secured.ca,
        "tls_cert": secured.cert,
        "tls_key": secured.key,
        "token_file": secured.token,
    }
    return ExpansionService(secured.bundled.service.address, **given | changed)


def test_a_pipeline_gets_its_bundle_over_tls_with_a_token(secured: Secured) -> None:
    transform: Any = ExternalTransformProvider(_service(secured), urn_pattern=OURS).RunEnsembleV1
    with running_prism() as prism:
        flags = ["--runner=PortableRunner", f"--job_endpoint={prism}", "--environment_type=LOOPBACK"]
        with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
            rows = pipeline | beam.Create(
                [beam.Row(weight=weight, length=length) for weight, length, _ in ROWS]
            )
            scored = rows | transform(spec_uri=str(secured.bundled.bundle))
            greetings = scored | beam.Map(lambda row: (row.weight, row.length, row.greeting))
            assert_that(greetings, equal_to(ROWS))


def test_who_has_not_all_of_it_is_told_what_is_missing(secured: Secured) -> None:
    for changed, words in (
        ({"tls_ca": "", "tls_cert": "", "tls_key": ""}, "requires TLS; name the CA"),
        ({"tls_cert": "", "tls_key": ""}, "requires a client certificate; set tls_cert"),
        ({"tls_ca": secured.cert}, "is not signed by a CA in the file"),
        ({"token_file": ""}, "requires a token; name the file that holds it with token_file"),
        ({"token_file": secured.ca}, "holds no token"),
    ):
        with pytest.raises(CannotConnect, match=words), _service(secured, **changed) as stub:
            stub.Expand(_nothing())


def _nothing() -> Any:
    from apache_beam.portability.api import beam_expansion_api_pb2

    return beam_expansion_api_pb2.ExpansionRequest()


def test_health(secured: Secured, capsys: pytest.CaptureFixture[str]) -> None:
    address = secured.bundled.service.address
    files = ["--tls-ca", str(secured.ca), "--tls-cert", str(secured.cert), "--tls-key", str(secured.key)]
    assert main(["health", address, *files]) == 0
    assert main(["health", address]) == 1
    assert f"the service at {address} requires TLS; " in capsys.readouterr().err
