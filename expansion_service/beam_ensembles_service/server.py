"""The gRPC server: what is served on the port, from the first line to the graceful end."""

from __future__ import annotations

import concurrent.futures
import logging
import sys
import threading
from typing import Final

import grpc
from apache_beam.portability.api import (
    beam_artifact_api_pb2,
    beam_artifact_api_pb2_grpc,
    beam_expansion_api_pb2,
    beam_expansion_api_pb2_grpc,
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
)
from apache_beam.utils.thread_pool_executor import UnboundedThreadPoolExecutor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from beam_ensembles import __version__
from beam_ensembles.columns import row_coder
from beam_ensembles_service.admission import Admission
from beam_ensembles_service.artifacts import OfferedArtifacts
from beam_ensembles_service.environment import workers_of
from beam_ensembles_service.listening import CannotListenError, address
from beam_ensembles_service.servicer import EnsembleExpansionServicer
from beam_ensembles_service.settings import Settings
from beam_ensembles_service.signal_end import when_signalled
from beam_ensembles_service.stdin_end import when_stdin_ends
from beam_ensembles_service.worker_pool import WorkerPool, start_fork_server

_LOGGER: Final = logging.getLogger(__name__)
_GRACE_SECONDS: Final = 5.0
_WATCH_THREADS: Final = 4
"""Threads in which calls to watch the health begin; none is held while they go on."""

_EXPANSION: Final = beam_expansion_api_pb2.DESCRIPTOR.services_by_name["ExpansionService"].full_name
_ARTIFACTS: Final = beam_artifact_api_pb2.DESCRIPTOR.services_by_name["ArtifactRetrievalService"].full_name
_WORKER_POOL: Final = beam_fn_api_pb2.DESCRIPTOR.services_by_name["BeamFnExternalWorkerPool"].full_name


class Service:
    """One running service.

    Args:
        settings: Its flags.

    Raises:
        CannotListenError: The address is in use or is none of this machine's.
        UsageError: The flags of the workers do not fit together.
    """

    def __init__(self, settings: Settings) -> None:
        row_coder.install()
        self._server = grpc.server(
            # Its threads are daemons: a request that hangs does not keep the service from ending. The interceptor
            # bounds how many there are.
            UnboundedThreadPoolExecutor(),  # type: ignore[arg-type]
            interceptors=[Admission(settings.limits)],
            options=[
                ("grpc.so_reuseport", 0),  # otherwise two services share a port, and each client gets either
                ("grpc.max_receive_message_length", settings.limits.max_message_bytes),
                ("grpc.max_send_message_length", settings.limits.max_message_bytes),
            ],
        )
        self._health = health.HealthServicer(
            experimental_thread_pool=concurrent.futures.ThreadPoolExecutor(_WATCH_THREADS)
        )
        self.port = _listen(self._server, settings.host, settings.port)
        fork_server = start_fork_server() if settings.serve_loopback_worker else None
        self._pool = WorkerPool(max(settings.logging_level, logging.WARNING), fork_server=fork_server)
        workers, artifacts = workers_of(settings, self.port), OfferedArtifacts()
        beam_expansion_api_pb2_grpc.add_ExpansionServiceServicer_to_server(
            EnsembleExpansionServicer(workers, settings.files, artifacts), self._server
        )
        beam_artifact_api_pb2_grpc.add_ArtifactRetrievalServiceServicer_to_server(artifacts, self._server)
        names = [_EXPANSION, _ARTIFACTS]
        if settings.serve_loopback_worker:
            beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(self._pool, self._server)
            names.append(_WORKER_POOL)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in ["", *names]:
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection(
            [*names, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server
        )

    def start(self) -> None:
        """Answers requests from here on."""
        self._server.start()

    def stop(self) -> None:
        """Says in its health that it ends, lets requests in work finish, and ends the workers."""
        self._health.enter_graceful_shutdown()
        stopped = self._server.stop(_GRACE_SECONDS)
        self._pool.stop()
        stopped.wait()


def serve(settings: Settings) -> None:
    """Serves until a signal, or the end of standard input where that was asked for.

    Prints one line to standard output when requests are answered.

    Raises:
        CannotListenError: The address is in use or is none of this machine's.
        UsageError: The flags of the workers do not fit together.
    """
    if settings.ignored:
        _LOGGER.info("flags of Beam's own starters that mean nothing here: %s", ", ".join(settings.ignored))
    ended = threading.Event()
    when_signalled(ended.set)
    service = Service(settings)
    service.start()
    sys.stdout.write(f"beam-ensembles {__version__} listening on {address(settings.host, service.port)}\n")
    sys.stdout.flush()
    if settings.stop_with_stdin:
        when_stdin_ends(ended.set)
    ended.wait()
    service.stop()


def _listen(server: grpc.Server, host: str, port: int) -> int:
    try:
        return server.add_insecure_port(address(host, port))
    except RuntimeError as exc:
        raise CannotListenError(f"cannot listen on {address(host, port)}") from exc
