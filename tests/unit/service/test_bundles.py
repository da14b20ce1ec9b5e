"""A bundle in a request: what the answer says of it, what is handed out, and what is refused."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from apache_beam.portability.api import (
    beam_artifact_api_pb2,
    beam_artifact_api_pb2_grpc,
    beam_expansion_api_pb2,
    beam_provision_api_pb2,
    beam_provision_api_pb2_grpc,
    beam_runner_api_pb2,
    endpoints_pb2,
)

from beam_ensembles.bundles.store import VARIABLE, Store
from beam_ensembles.files.ensemble_files import LIBRARY_CODE, Bundle, Files
from beam_ensembles_service.requests.artifacts import OfferedArtifacts, artifact_of
from beam_ensembles_service.requests.environment import workers_of
from beam_ensembles_service.requests.servicer import EnsembleExpansionServicer
from beam_ensembles_service.settings import Settings, UsageError
from beam_ensembles_service.workers.staged_bundles import fetch_bundles
from tests.support import bundled
from tests.support.bundled import ALLOWED, pack_and_forget
from tests.support.expansion_requests import like_go, like_java, schema

ROWS = schema("rows", weight="double", length="double")
WORKERS = Settings(environment_type="EXTERNAL", environment_config="pool:50000")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack_and_forget(tmp_path_factory.mktemp("bundle"))


def servicer_for(artifacts: OfferedArtifacts, **files: Any) -> EnsembleExpansionServicer:
    allowed = Files(code=(*LIBRARY_CODE, ALLOWED), **files)
    return EnsembleExpansionServicer(workers_of(WORKERS, 0), allowed, artifacts)


def dependencies(
    answer: beam_expansion_api_pb2.ExpansionResponse,
) -> list[list[beam_runner_api_pb2.ArtifactInformation]]:
    used = {t.environment_id for t in answer.components.transforms.values() if t.environment_id}
    return [list(answer.components.environments[name].dependencies) for name in used]


@pytest.mark.parametrize("build", [like_go, like_java])
def test_the_workers_environment_names_the_bundle(
    build: Any, bundle: Path, installed_row_coder: None
) -> None:
    servicer = servicer_for(OfferedArtifacts(), trusted=(str(bundle.parent),))
    answer = servicer.Expand(build({"spec_uri": str(bundle)}, ROWS))
    assert not answer.error
    for found in dependencies(answer):
        (artifact,) = found
        payload = beam_runner_api_pb2.ArtifactFilePayload.FromString(artifact.type_payload)
        assert payload.sha256 == hashlib.sha256(bundle.read_bytes()).hexdigest()
        role = beam_runner_api_pb2.ArtifactStagingToRolePayload.FromString(artifact.role_payload)
        assert role.staged_name == bundle.name


def test_a_stage_of_its_own_resources_gets_the_bundle_too(
    tmp_path: Path, installed_row_coder: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = bundled.ENSEMBLE.replace(
        "    inputs: [weight, length]\n", "    inputs: [weight, length]\n    resources: {min_ram: 1GB}\n", 1
    )
    monkeypatch.setattr(bundled, "ENSEMBLE", text)
    bundle = pack_and_forget(tmp_path)
    servicer = servicer_for(OfferedArtifacts(), trusted=(str(tmp_path),))
    answer = servicer.Expand(like_go({"spec_uri": str(bundle)}, ROWS))
    assert not answer.error
    found = dependencies(answer)
    assert len(found) == 2
    assert all(len(artifacts) == 1 for artifacts in found)


def test_who_trusts_what(bundle: Path, installed_row_coder: None, tmp_path: Path) -> None:
    request = like_go({"spec_uri": str(bundle)}, ROWS)
    said = servicer_for(OfferedArtifacts(), trusted=(str(tmp_path),)).Expand(request).error
    assert "[untrusted_file] spec_uri: " in said
    assert "is not in a folder that this service trusts" in said
    allowed = Files(trusted=(str(bundle.parent),))
    said = EnsembleExpansionServicer(workers_of(WORKERS, 0), allowed).Expand(request).error
    assert "[untrusted_code] nodes.greeting.function: " in said


@pytest.mark.parametrize(
    ("more", "place"),
    [({"base_uri": "/x"}, "base_uri"), ({"refresh_interval_secs": 5}, "refresh_interval_secs")],
)
def test_what_has_no_meaning_for_a_bundle_is_refused(
    more: dict[str, Any], place: str, bundle: Path, installed_row_coder: None
) -> None:
    servicer = servicer_for(OfferedArtifacts(), trusted=(str(bundle.parent),))
    said = servicer.Expand(like_go({"spec_uri": str(bundle), **more}, ROWS)).error
    assert f"[wrong_config] {place}: a bundle " in said


def test_a_bundle_can_be_trusted_by_its_digest_alone() -> None:
    assert Settings(trust=("bundle:" + "0" * 64,)).files.trusted == ("bundle:" + "0" * 64,)
    for wrong in ("bundles", "bundle:abc", "bundle:" + "0" * 65, "bundle:" + "A" * 64):
        with pytest.raises(UsageError, match="--trust"):
            Settings(trust=(wrong,))


def test_a_service_opens_a_bundle_anywhere_that_it_trusts_for_its_digest(
    bundle: Path, installed_row_coder: None, tmp_path: Path
) -> None:
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    artifacts = OfferedArtifacts()
    servicer = servicer_for(artifacts, trusted=(f"bundle:{digest}",))
    for place in (str(bundle), bundle.as_uri()):
        answer = servicer.Expand(like_go({"spec_uri": place}, ROWS))
        assert not answer.error
        assert all(len(found) == 1 for found in dependencies(answer))


def test_a_bundle_that_only_its_digest_vouches_for_cannot_be_swapped_for_another_file(
    bundle: Path, installed_row_coder: None, tmp_path: Path
) -> None:
    """Whoever owns the bundle could put a link there, and be given the file that it leads to."""
    content = bundle.read_bytes()
    place, secret = tmp_path / "own.ensemble.zip", tmp_path / "secret"
    place.write_bytes(content)
    secret.write_bytes(b"secret")
    artifacts = OfferedArtifacts()
    servicer = servicer_for(artifacts, trusted=(f"bundle:{hashlib.sha256(content).hexdigest()}",))
    answer = servicer.Expand(like_go({"spec_uri": str(place)}, ROWS))
    assert not answer.error
    place.unlink()
    place.symlink_to(secret)
    request = beam_artifact_api_pb2.GetArtifactRequest(artifact=dependencies(answer)[0][0])
    context: Any = None  # it is only told of failures
    assert b"".join(block.data for block in artifacts.GetArtifact(request, context)) == content


@pytest.mark.parametrize("what", ["changed", "missing", "folder", "pipe", "plain"])
def test_of_others_a_client_learns_nothing(
    what: str, bundle: Path, installed_row_coder: None, tmp_path: Path
) -> None:
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    place = tmp_path / "other.ensemble.zip"
    if what == "changed":
        place.write_bytes(bundle.read_bytes()[:-1] + b"x")
    elif what == "folder":
        place.mkdir()
    elif what == "pipe":
        os.mkfifo(place)
    elif what == "plain":
        place.write_bytes(b"secret")
    servicer = servicer_for(OfferedArtifacts(), trusted=(f"bundle:{digest}",))
    said = servicer.Expand(like_go({"spec_uri": str(place)}, ROWS)).error
    assert (
        f"[untrusted_file] spec_uri: '{place}' is not in a folder that this service trusts, nor a b" in said
    )
    assert "--trust bundle:SHA256" in said


class Runner(beam_provision_api_pb2_grpc.ProvisionServiceServicer):
    """Lists the artifacts that there are."""

    def __init__(self, artifacts: list[beam_runner_api_pb2.ArtifactInformation]) -> None:
        self.artifacts, self.address = artifacts, ""

    def GetProvisionInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Returns them."""
        assert dict(context.invocation_metadata())["worker_id"] == "w1"
        info = beam_provision_api_pb2.ProvisionInfo(
            dependencies=self.artifacts,
            artifact_endpoint=endpoints_pb2.ApiServiceDescriptor(url=self.address),
        )
        return beam_provision_api_pb2.GetProvisionInfoResponse(info=info)


@pytest.fixture
def offered(bundle: Path) -> tuple[OfferedArtifacts, Any]:
    artifacts = OfferedArtifacts()
    servicer = servicer_for(artifacts, trusted=(str(bundle.parent),))
    answer = servicer.Expand(like_go({"spec_uri": str(bundle)}, ROWS))
    return artifacts, dependencies(answer)[0][0]


@pytest.fixture
def runner(installed_row_coder: None, offered: tuple[OfferedArtifacts, Any]) -> Iterator[Runner]:
    artifacts, artifact = offered
    found = Runner([artifact])
    server = grpc.server(futures.ThreadPoolExecutor(4))
    beam_provision_api_pb2_grpc.add_ProvisionServiceServicer_to_server(found, server)
    beam_artifact_api_pb2_grpc.add_ArtifactRetrievalServiceServicer_to_server(artifacts, server)
    found.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield found
    server.stop(None).wait()


def fetched(address: str, artifact: Any) -> bytes:
    with grpc.insecure_channel(address) as channel:
        stub = beam_artifact_api_pb2_grpc.ArtifactRetrievalServiceStub(channel)
        request = beam_artifact_api_pb2.GetArtifactRequest(artifact=artifact)
        return b"".join(block.data for block in stub.GetArtifact(request))


def test_the_bundle_is_handed_out(runner: Runner, bundle: Path) -> None:
    assert fetched(runner.address, runner.artifacts[0]) == bundle.read_bytes()


def test_no_other_file_is_handed_out(runner: Runner) -> None:
    for urn, payload in (
        ("beam:artifact:type:file:v1", beam_runner_api_pb2.ArtifactFilePayload(path="/etc/passwd")),
        (
            "beam:artifact:type:file:v1",
            beam_runner_api_pb2.ArtifactFilePayload(path="/etc/passwd", sha256="0" * 64),
        ),
        ("beam:artifact:type:url:v1", beam_runner_api_pb2.ArtifactUrlPayload(url="file:///etc/passwd")),
        ("beam:artifact:type:embedded:v1", beam_runner_api_pb2.EmbeddedFilePayload(data=b"x")),
    ):
        artifact = beam_runner_api_pb2.ArtifactInformation(
            type_urn=urn, type_payload=payload.SerializeToString()
        )
        with pytest.raises(grpc.RpcError) as refused:
            fetched(runner.address, artifact)
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED


def test_a_bundle_that_changed_since_is_not_handed_out_as_if_it_had_not(
    tmp_path: Path, runner: Runner
) -> None:
    artifacts = OfferedArtifacts()
    path = tmp_path / "changed"
    path.write_bytes(b"other")
    changed = Bundle("b.ensemble.zip", "0" * 64, 5, str(path), "", {})
    offer = artifacts.offer(changed)
    assert offer == artifact_of(changed)

    class Context:
        said = ""

        def abort(self, code: grpc.StatusCode, text: str) -> None:
            self.said = text

    context: Any = Context()
    request = beam_artifact_api_pb2.GetArtifactRequest(artifact=offer)
    list(artifacts.GetArtifact(request, context))
    assert "was changed since the pipeline was made" in context.said


def test_a_worker_fetches_the_bundles_of_its_runner(
    runner: Runner, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "worker"))
    other = beam_runner_api_pb2.ArtifactInformation(type_urn="beam:artifact:type:file:v1")
    runner.artifacts.append(other)
    fetch_bundles(runner.address, "w1")
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    found = Store.of_this_machine().find(digest)
    assert found is not None
    assert Path(found, "files", "models", "size.joblib").is_file()


def test_a_runner_that_does_not_answer_stops_no_worker(caplog: pytest.LogCaptureFixture) -> None:
    fetch_bundles("127.0.0.1:1", "w1")
    assert "gave no bundles: UNAVAILABLE" in caplog.text
