"""The gRPC server: what is served on the port, from the first line to the graceful end."""

from __future__ import annotations

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
)
from apache_beam.utils.thread_pool_executor import UnboundedThreadPoolExecutor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from beam_ensembles import __version__
from beam_ensembles.beam_repairs import row_coder
from beam_ensembles_service.callers.connections import listen, options
from beam_ensembles_service.callers.users import Callers
from beam_ensembles_service.health_service import Health
from beam_ensembles_service.listening import address
from beam_ensembles_service.requests.admission import Admission
from beam_ensembles_service.requests.artifacts import OfferedArtifacts
from beam_ensembles_service.requests.environment import workers_of
from beam_ensembles_service.requests.servicer import EnsembleExpansionServicer
from beam_ensembles_service.settings import Settings
from beam_ensembles_service.signal_end import when_signalled
from beam_ensembles_service.stdin_end import when_stdin_ends
from beam_ensembles_service.workers.loopback import WORKER_POOL, LoopbackPool

_LOGGER: Final = logging.getLogger(__name__)
_GRACE_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 2.0
"""How long connections may take to close after that; gRPC would wait for some forever."""

_EXPANSION: Final = beam_expansion_api_pb2.DESCRIPTOR.services_by_name["ExpansionService"].full_name
_ARTIFACTS: Final = beam_artifact_api_pb2.DESCRIPTOR.services_by_name["ArtifactRetrievalService"].full_name


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
        access = settings.access
        callers = Callers(access, pools=(WORKER_POOL,), message_bytes=settings.limits.max_message_bytes)
        self._server = grpc.server(
            # Its threads are daemons: a request that hangs does not keep the service from ending. The interceptor
            # bounds how many there are.
            UnboundedThreadPoolExecutor(),  # type: ignore[arg-type]
            interceptors=[callers, Admission(settings.limits)],
            options=[
                *options(access),
                ("grpc.max_receive_message_length", settings.limits.max_message_bytes),
                ("grpc.max_send_message_length", settings.limits.max_message_bytes),
            ],
        )
        self._health = Health()
        self.port = listen(self._server, settings.host, settings.port, access)
        callers.listen_on(self.port)
        self._pool = LoopbackPool(settings) if settings.serve_loopback_worker else None
        pool_port = self._pool.serve_on(self._server, self.port) if self._pool else self.port
        workers, artifacts = workers_of(settings, pool_port), OfferedArtifacts()
        beam_expansion_api_pb2_grpc.add_ExpansionServiceServicer_to_server(
            EnsembleExpansionServicer(workers, settings.files, artifacts), self._server
        )
        beam_artifact_api_pb2_grpc.add_ArtifactRetrievalServiceServicer_to_server(artifacts, self._server)
        names = [_EXPANSION, _ARTIFACTS]
        if self._pool and pool_port == self.port:
            names.append(WORKER_POOL)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in ["", *names]:
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection(
            [*names, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server
        )

    def start(self) -> None:
        """Answers requests from here on."""
        self._server.start()
        if self._pool:
            self._pool.start()

    def stop(self) -> None:
        """Reports the shutdown in its health, lets requests in progress finish, and ends the workers."""
        self._health.enter_graceful_shutdown()
        stopped = self._server.stop(_GRACE_SECONDS)
        if self._pool:
            self._pool.stop()
        stopped.wait(_GRACE_SECONDS + _CLOSE_SECONDS)


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
