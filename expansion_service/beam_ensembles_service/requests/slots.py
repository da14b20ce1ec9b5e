"""Limit how many requests are handled at one time, and how many wait."""

from __future__ import annotations

import collections
import dataclasses
import threading
from typing import Final

import grpc

from beam_ensembles_service.settings import Limits

MOST_WAITING: Final = 512
"""How many requests may wait."""
MOST_WAITING_BYTES: Final = 256 << 20
"""How many bytes the waiting requests may hold."""


class Busy(Exception):
    """There is no place for a request; the message is one sentence for its caller."""


class CallerGone(Exception):
    """The caller no longer waits for its answer."""


@dataclasses.dataclass(slots=True, eq=False)
class _Waiting:
    size: int
    may_go_on: bool = False
    woken: threading.Event = dataclasses.field(default_factory=threading.Event)


class Slots:
    """Slots for requests; a freed slot goes to the request that has waited longest.

    Args:
        limits: ``max_requests`` go on at one time; the others wait for at most ``request_seconds``.
    """

    def __init__(self, limits: Limits) -> None:
        self._free = limits.max_requests
        self._limits = limits
        self._waiting: collections.deque[_Waiting] = collections.deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def take(self, context: grpc.ServicerContext, size: int) -> None:
        """Waits for a slot, which is held until ``give_back``.

        Args:
            context: The call's.
            size: Bytes of the request, which it holds while it waits.

        Raises:
            Busy: Too many requests wait, or this one has waited for too long.
            CallerGone: The caller has gone while the request waited.
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return
            if len(self._waiting) >= MOST_WAITING or self._bytes + size > MOST_WAITING_BYTES:
                raise Busy(f"the service is busy: {len(self._waiting)} requests wait already; {self._advice}")
            one = _Waiting(size)
            self._waiting.append(one)
            self._bytes += size
        if context.add_callback(one.woken.set):
            one.woken.wait(self._limits.request_seconds)
        with self._lock:
            if one.may_go_on:
                return
            self._waiting.remove(one)
            self._bytes -= one.size
        if not context.is_active():
            raise CallerGone
        seconds = f"{self._limits.request_seconds:g}"
        raise Busy(f"the service is busy: the request waited {seconds} s for its turn; {self._advice}")

    def give_back(self) -> None:
        """Frees a slot for the request that has waited longest."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            one = self._waiting.popleft()
            self._bytes -= one.size
            one.may_go_on = True
            one.woken.set()

    @property
    def _advice(self) -> str:
        return f"try again later, or let more than {self._limits.max_requests} go on at one time (serve --max-requests)"
