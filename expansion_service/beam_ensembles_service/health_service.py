"""The health of a server, which anybody may ask for and watch, with a limit on what that holds."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any, Final

import grpc
from grpc_health.v1 import health, health_pb2

MOST_WATCHES: Final = 256
_WATCH_THREADS: Final = 4
"""Threads in which calls to watch the health begin; none is held while they go on."""


class Health(health.HealthServicer):
    """Answers for the names that were set; a watch of another name ends with the answer, and leaves nothing behind.

    gRPC's own servicer (1.85) keeps each name that was ever watched.
    """

    def __init__(self) -> None:
        super().__init__(experimental_thread_pool=concurrent.futures.ThreadPoolExecutor(_WATCH_THREADS))
        self._names = {health.OVERALL_HEALTH}
        self._watches = 0
        self._watches_lock = threading.Lock()

    def set(self, service: str, status: Any) -> None:
        """Set the health of a name."""
        self._names.add(service)
        super().set(service, status)

    def Watch(  # type: ignore[override]  # experimental_non_blocking always gives a callback
        self,
        request: Any,
        context: grpc.ServicerContext,
        send_response_callback: Callable[[Any], None],
    ) -> None:
        """Sends the health of a name, and again whenever it changes."""
        if request.service not in self._names:
            unknown = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
            send_response_callback(health_pb2.HealthCheckResponse(status=unknown))
            send_response_callback(None)
            return
        with self._watches_lock:
            is_free = self._watches < MOST_WATCHES
            self._watches += is_free
        if not is_free:
            text = f"{MOST_WATCHES} calls watch the health already; ask with Check"
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        if context.add_callback(self._end_watch):
            super().Watch(request, context, send_response_callback)
        else:  # the caller has gone
            self._end_watch()

    def _end_watch(self) -> None:
        with self._watches_lock:
            self._watches -= 1
