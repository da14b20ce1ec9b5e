"""The health of a server, which anybody may ask for and watch, with a limit on what that holds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Final

import grpc
from grpc_health.v1 import health, health_pb2

MOST_WATCHES: Final = 256
"""How many calls may watch the health. Each holds a thread."""


class Health(health.HealthServicer):
    """Answers for the names that were set; a watch of another name ends with the answer, and leaves nothing behind.

    gRPC's own servicer (1.85) keeps each name that was ever watched. It also holds a lock while it sends to a watcher:
    one that reads nothing stops all answers about the health, and once another watcher leaves, the whole server.
    """

    def __init__(self) -> None:
        super().__init__(experimental_non_blocking=False)
        self._statuses = {health.OVERALL_HEALTH: health_pb2.HealthCheckResponse.SERVING}
        self._watches: set[threading.Event] = set()
        self._watches_lock = threading.Lock()
        """Held for no longer than the set is looked at: gRPC's only thread for events waits for it, too."""

    def set(self, service: str, status: Any) -> None:
        """Set the health of a name."""
        super().set(service, status)
        self._statuses[service] = status
        with self._watches_lock:
            watches = list(self._watches)
        for woken in watches:
            woken.set()

    def Watch(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # type: ignore[override]
        """Yields the health of a name, and again whenever it changes."""
        if request.service not in self._statuses:
            yield health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            return
        woken = self._watch(context)
        said = None
        while context.is_active():
            woken.clear()
            status = self._statuses[request.service]
            if status != said:
                said = status
                yield health_pb2.HealthCheckResponse(status=status)
            elif context.is_active():
                woken.wait()

    def _watch(self, context: grpc.ServicerContext) -> threading.Event:
        """Returns what is set whenever a health has changed, and when the call ends."""
        woken = threading.Event()
        with self._watches_lock:
            is_free = len(self._watches) < MOST_WATCHES
            if is_free:
                self._watches.add(woken)
        if not is_free:
            text = f"{MOST_WATCHES} calls watch the health already; ask with Check"
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)

        def end() -> None:
            with self._watches_lock:
                self._watches.discard(woken)
            woken.set()

        if not context.add_callback(end):  # the caller has gone
            end()
        return woken
