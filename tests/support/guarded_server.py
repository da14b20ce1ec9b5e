"""A gRPC server with TLS and a token: gRPC's health, and Beam's expansion, artifact and job services."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from apache_beam.portability.api import (
    beam_artifact_api_pb2,
    beam_artifact_api_pb2_grpc,
    beam_expansion_api_pb2,
    beam_expansion_api_pb2_grpc,
    beam_job_api_pb2,
    beam_job_api_pb2_grpc,
)
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from tests.support.authority import Pair

REACHED = "the call got through"


class _Expansion(beam_expansion_api_pb2_grpc.ExpansionServiceServicer):
    def Expand(self, request: Any, context: Any) -> Any:
        return beam_expansion_api_pb2.ExpansionResponse(error=REACHED)

    def DiscoverSchemaTransform(self, request: Any, context: Any) -> Any:
        return beam_expansion_api_pb2.DiscoverSchemaTransformResponse(error=REACHED)


class _Artifacts(beam_artifact_api_pb2_grpc.ArtifactRetrievalServiceServicer):
    def ResolveArtifacts(self, request: Any, context: Any) -> Any:
        return beam_artifact_api_pb2.ResolveArtifactsResponse(replacements=request.artifacts)

    def GetArtifact(self, request: Any, context: Any) -> Iterator[Any]:
        yield beam_artifact_api_pb2.GetArtifactResponse(data=REACHED.encode())


class _Jobs(beam_job_api_pb2_grpc.JobServiceServicer):
    def GetJobs(self, request: Any, context: Any) -> Any:
        return beam_job_api_pb2.GetJobsResponse()


class _TakesToken(grpc.ServerInterceptor):
    def __init__(self, token: str) -> None:
        self._header = ("authorization", f"Bearer {token}")

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        if self._header in details.invocation_metadata or "grpc.health" in details.method:
            return continuation(details)
        return grpc.unary_unary_rpc_method_handler(_refuse)


def _refuse(request: Any, context: Any) -> None:
    context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token is missing or wrong")


@contextlib.contextmanager
def guarded_server(own: Pair | None = None, client_ca: Path | None = None, token: str = "") -> Iterator[str]:
    """Runs a server on a free port of 127.0.0.1.

    Args:
        own: Its certificate; None: it does not use TLS.
        client_ca: The CA that must have signed the certificates of clients.
        token: The only one that it takes, if any, but for its health.

    Yields:
        Its address.
    """
    interceptors: list[grpc.ServerInterceptor] = [_TakesToken(token)] if token else []
    server = grpc.server(futures.ThreadPoolExecutor(4), interceptors=interceptors)
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    beam_expansion_api_pb2_grpc.add_ExpansionServiceServicer_to_server(_Expansion(), server)
    beam_artifact_api_pb2_grpc.add_ArtifactRetrievalServiceServicer_to_server(_Artifacts(), server)
    beam_job_api_pb2_grpc.add_JobServiceServicer_to_server(_Jobs(), server)
    if own is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        credentials = grpc.ssl_server_credentials(
            [(own.key.read_bytes(), own.cert.read_bytes())],
            root_certificates=None if client_ca is None else client_ca.read_bytes(),
            require_client_auth=client_ca is not None,
        )
        port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
