"""The bundles that a runner has for a worker, fetched before its harness starts, as ``boot`` does in containers."""

from __future__ import annotations

import logging
import os
from typing import Any, Final

import grpc
from apache_beam.portability import common_urns
from apache_beam.portability.api import (
    beam_artifact_api_pb2,
    beam_artifact_api_pb2_grpc,
    beam_runner_api_pb2,
)

from beam_ensembles.bundles.file_names import is_bundle
from beam_ensembles.bundles.manifest import BadBundle
from beam_ensembles.bundles.store import Store
from beam_ensembles.errors import EnsembleError
from beam_ensembles_service.workers.provisioning import provision_info

_LOGGER: Final = logging.getLogger(__name__)
_ANSWER_SECONDS: Final = 60.0
_FETCH_SECONDS: Final = 3_600.0
_ANY_SIZE: Final = (("grpc.max_receive_message_length", -1),)
"""Prism 2.77 sends artifacts in messages of 128 MiB."""


def fetch_bundles(provision: str, worker_id: str) -> None:
    """Unpacks the bundles that a runner has for a worker and that are not on this machine yet.

    What cannot be fetched is logged: the stage that needs it will say what it lacks.

    Args:
        provision: ``host:port`` where the runner says which files there are.
        worker_id: The runner's name for the worker.
    """
    try:
        info = provision_info(provision, worker_id)
        bundles = [artifact for artifact in info.dependencies if is_bundle(_name_of(artifact))]
        if bundles:
            _fetch(bundles, info.artifact_endpoint.url or provision, worker_id)
    except grpc.RpcError as error:
        _LOGGER.warning("the runner at %s gave no bundles: %s", provision, _said(error))
    except (BadBundle, EnsembleError, OSError) as error:
        _LOGGER.error("a bundle of the runner at %s cannot be used: %s", provision, error)


def _fetch(artifacts: list[beam_runner_api_pb2.ArtifactInformation], address: str, worker_id: str) -> None:
    store = Store.of_this_machine()
    with grpc.insecure_channel(address, options=_ANY_SIZE) as channel:
        stub = beam_artifact_api_pb2_grpc.ArtifactRetrievalServiceStub(channel)
        metadata = [("worker_id", worker_id)]
        request = beam_artifact_api_pb2.ResolveArtifactsRequest(artifacts=artifacts)
        resolved = stub.ResolveArtifacts(request, metadata=metadata, timeout=_ANSWER_SECONDS)
        for artifact in resolved.replacements:
            if store.find(_digest_of(artifact)) is None:
                _fetch_one(store, stub, artifact, metadata)


def _fetch_one(
    store: Store,
    stub: Any,
    artifact: beam_runner_api_pb2.ArtifactInformation,
    metadata: list[tuple[str, str]],
) -> None:
    with store.temporary() as folder:
        path = os.path.join(folder, "bundle")
        request = beam_artifact_api_pb2.GetArtifactRequest(artifact=artifact)
        with open(path, "wb") as sink:
            for block in stub.GetArtifact(request, metadata=metadata, timeout=_FETCH_SECONDS):
                sink.write(block.data)
        with open(path, "rb") as file:
            store.unpack(file, _name_of(artifact))
    _LOGGER.info("got the bundle '%s' from the runner", _name_of(artifact))


def _name_of(artifact: beam_runner_api_pb2.ArtifactInformation) -> str:
    if artifact.role_urn != common_urns.artifact_roles.STAGING_TO.urn:
        return ""
    role = beam_runner_api_pb2.ArtifactStagingToRolePayload.FromString(artifact.role_payload)
    return os.path.basename(role.staged_name)


def _digest_of(artifact: beam_runner_api_pb2.ArtifactInformation) -> str:
    if artifact.type_urn != common_urns.artifact_types.FILE.urn:
        return ""
    return beam_runner_api_pb2.ArtifactFilePayload.FromString(artifact.type_payload).sha256


def _said(error: Any) -> str:
    return f"{error.code().name}: {error.details()}" if hasattr(error, "details") else "no answer"
