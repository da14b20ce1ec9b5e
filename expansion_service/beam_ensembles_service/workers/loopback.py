"""The workers that a service starts itself, for runners on its own machine."""

from __future__ import annotations

import dataclasses
import logging
from typing import Final

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc
from apache_beam.utils.thread_pool_executor import UnboundedThreadPoolExecutor

from beam_ensembles_service.callers.connections import listen, options
from beam_ensembles_service.callers.users import Callers
from beam_ensembles_service.requests.admission import Admission
from beam_ensembles_service.settings import DEFAULT_HOST, Settings
from beam_ensembles_service.workers.environment import worker_environment
from beam_ensembles_service.workers.pool import WorkerPool, start_fork_server

WORKER_POOL: Final = beam_fn_api_pb2.DESCRIPTOR.services_by_name["BeamFnExternalWorkerPool"].full_name
_REACHED_FROM_LOOPBACK: Final = (DEFAULT_HOST, "localhost", "0.0.0.0", "::")  # noqa: S104 - compared with
_GRACE_SECONDS: Final = 1.0


class LoopbackPool:
    """The pool of workers of one service.

    Args:
        settings: The service's flags.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._server: grpc.Server | None = None
        environment = worker_environment(settings.passed_variables, (*settings.trust, *settings.allow_host))
        self._pool = WorkerPool(
            max(settings.logging_level, logging.WARNING),
            environment=environment,
            max_workers=settings.max_workers,
            fork_server=start_fork_server(environment),
        )

    def serve_on(self, server: grpc.Server, port: int) -> int:
        """Serve the pool at 127.0.0.1 to runners of this machine.

        Beam's runners speak no TLS to a pool: where the service does, or does not listen there, the pool has a port
        of its own.

        Args:
            server: The service's.
            port: The service's.

        Returns:
            The pool's port.
        """
        settings = self._settings
        if not settings.access.has_tls and settings.host in _REACHED_FROM_LOOPBACK:
            beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(self._pool, server)
            return port
        plain = dataclasses.replace(settings.access, tls_cert="", tls_key="", tls_client_ca="", token_file="")
        callers = Callers(plain, pools=(WORKER_POOL,))
        self._server = grpc.server(
            UnboundedThreadPoolExecutor(),  # type: ignore[arg-type]
            interceptors=[callers, Admission(settings.limits)],
            options=options(plain),
        )
        beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(self._pool, self._server)
        own = listen(self._server, DEFAULT_HOST, 0, plain)
        callers.listen_on(own)
        return own

    def start(self) -> None:
        """Answers runners from here on."""
        if self._server is not None:
            self._server.start()

    def stop(self) -> None:
        """Ends the workers; none is started from here on."""
        self._pool.stop()
        if self._server is not None:
            self._server.stop(_GRACE_SECONDS).wait()
