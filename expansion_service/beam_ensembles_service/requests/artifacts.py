"""Artifact retrieval: hands out the bundles that this service's expansions offer, and nothing else.

Beam's stock service opens whatever path or URL a client names. Here a request is looked up by the digest in it, and no
path of it is ever opened.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from typing import Final

import grpc
from apache_beam.portability import common_urns
from apache_beam.portability.api import (
    beam_artifact_api_pb2,
    beam_artifact_api_pb2_grpc,
    beam_runner_api_pb2,
)
from google.protobuf.message import DecodeError

from beam_ensembles.files.ensemble_files import Bundle
from beam_ensembles.files.local_files import open_regular

_NOT_OFFERED: Final = "no expansion of this service offered that artifact; make the pipeline again"
_BLOCK: Final = 1 << 20
_FILE: Final[str] = common_urns.artifact_types.FILE.urn
_STAGING_TO: Final[str] = common_urns.artifact_roles.STAGING_TO.urn


def artifact_of(bundle: Bundle) -> beam_runner_api_pb2.ArtifactInformation:
    """Describes a bundle as runners and workers take files: known by its digest, staged under its name."""
    file = beam_runner_api_pb2.ArtifactFilePayload(path=bundle.name, sha256=bundle.digest)
    role = beam_runner_api_pb2.ArtifactStagingToRolePayload(staged_name=bundle.name)
    return beam_runner_api_pb2.ArtifactInformation(
        type_urn=_FILE,
        type_payload=file.SerializeToString(),
        role_urn=_STAGING_TO,
        role_payload=role.SerializeToString(),
    )


class OfferedArtifacts(beam_artifact_api_pb2_grpc.ArtifactRetrievalServiceServicer):
    """Answers for expansions with and without a bundle; refuses every other file that is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offered: dict[str, Bundle] = {}

    def offer(self, bundle: Bundle) -> beam_runner_api_pb2.ArtifactInformation:
        """Hands a bundle out from here on; gives its description for an environment."""
        with self._lock:
            self._offered[bundle.digest] = bundle
        return artifact_of(bundle)

    def ResolveArtifacts(
        self, request: beam_artifact_api_pb2.ResolveArtifactsRequest, context: grpc.ServicerContext
    ) -> beam_artifact_api_pb2.ResolveArtifactsResponse:
        """Resolves what was offered to itself."""
        if not all(self._find(artifact) for artifact in request.artifacts):
            context.abort(grpc.StatusCode.PERMISSION_DENIED, _NOT_OFFERED)
        return beam_artifact_api_pb2.ResolveArtifactsResponse(replacements=request.artifacts)

    def GetArtifact(
        self, request: beam_artifact_api_pb2.GetArtifactRequest, context: grpc.ServicerContext
    ) -> Iterator[beam_artifact_api_pb2.GetArtifactResponse]:
        """Yields the bytes of a bundle, and fails at the end where they are not those that were offered."""
        bundle = self._find(request.artifact)
        if bundle is None:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, _NOT_OFFERED)
        digest = hashlib.sha256()
        try:
            for block in _blocks(bundle.archive):
                digest.update(block)
                yield beam_artifact_api_pb2.GetArtifactResponse(data=block)
        except OSError as error:
            text = f"the bundle '{bundle.name}' cannot be read any more: {error.strerror}"
            context.abort(grpc.StatusCode.NOT_FOUND, text)
        if digest.hexdigest() != bundle.digest:
            text = f"the bundle '{bundle.name}' was changed since the pipeline was made; make it again"
            context.abort(grpc.StatusCode.DATA_LOSS, text)

    def _find(self, artifact: beam_runner_api_pb2.ArtifactInformation) -> Bundle | None:
        if artifact.type_urn != _FILE:
            return None
        try:
            payload = beam_runner_api_pb2.ArtifactFilePayload.FromString(artifact.type_payload)
        except DecodeError:
            return None
        with self._lock:
            return self._offered.get(payload.sha256)


def _blocks(path: str) -> Iterable[bytes]:
    with open_regular(path) as file:
        while block := file.read(_BLOCK):
            yield block
