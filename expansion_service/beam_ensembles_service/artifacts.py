"""Artifact retrieval: this service's expansions need no files, so there is nothing to hand out.

Beam's stock service opens whatever path or URL a client names.
"""

from __future__ import annotations

from collections.abc import Iterator

import grpc
from apache_beam.portability.api import beam_artifact_api_pb2, beam_artifact_api_pb2_grpc

_NOTHING_OFFERED = "no artifact was offered by an expansion of this service, so it hands none out"


class NoArtifacts(beam_artifact_api_pb2_grpc.ArtifactRetrievalServiceServicer):
    """Answers for an expansion without artifacts; refuses every file that is asked for."""

    def ResolveArtifacts(
        self, request: beam_artifact_api_pb2.ResolveArtifactsRequest, context: grpc.ServicerContext
    ) -> beam_artifact_api_pb2.ResolveArtifactsResponse:
        """Resolves the empty list to itself."""
        if request.artifacts:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, _NOTHING_OFFERED)
        return beam_artifact_api_pb2.ResolveArtifactsResponse()

    def GetArtifact(
        self, request: beam_artifact_api_pb2.GetArtifactRequest, context: grpc.ServicerContext
    ) -> Iterator[beam_artifact_api_pb2.GetArtifactResponse]:
        """Refuses."""
        context.abort(grpc.StatusCode.PERMISSION_DENIED, _NOTHING_OFFERED)
