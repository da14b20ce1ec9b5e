"""Read the one message of a call, and cancel calls whose message never comes: each would hold a thread forever."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import grpc

READ_SECONDS: Final = 60.0
"""How long a client may take to send its message."""
_SLOW_SECONDS: Final = 5.0
"""The same while further calls wait to be read."""
_LOOK_SECONDS: Final = 1.0
MOST_READS: Final = 16
"""How many messages are read at one time, each as long as a message may be: of known callers, and of all others."""
_TOO_MANY: Final = f"{MOST_READS} messages are being read already; try again later"
_TRIMMED_BYTES: Final = 64 << 20
"""After how many bytes of messages the memory that they took goes back to the system."""


class Reader:
    """Reads messages of callers who may call: few at a time, while the others wait unread.

    One thread watches how long reads take. While calls wait, one that sends slowly is cancelled early.
    """

    def __init__(self) -> None:
        self._trimmer = Trimmer()
        self._began: dict[Any, float] = {}
        self._waiting = 0
        self._changed = threading.Condition()
        self._watches = False

    def first(self, messages: Any, context: Any) -> bytes:
        """Returns the message of a call.

        Args:
            messages: What the client sends, read as it comes.
            context: The call's; it is cancelled where nothing comes in time, and aborted where nothing is sent.
        """
        if not self._begin(context):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, _TOO_MANY)
        try:
            return _first(messages, context, self._trimmer)
        finally:
            with self._changed:
                del self._began[context]
                self._changed.notify()

    def _begin(self, context: Any) -> bool:
        """Waits until the message may be read; whether it may."""
        with self._changed:
            self._waiting += 1
            is_free = self._changed.wait_for(lambda: len(self._began) < MOST_READS, READ_SECONDS)
            self._waiting -= 1
            if is_free:
                self._began[context] = time.monotonic()
            if not self._watches:
                self._watches = True
                threading.Thread(target=self._watch, name="reader", daemon=True).start()
        return is_free

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            with self._changed:
                seconds = _SLOW_SECONDS if self._waiting else READ_SECONDS
                last = time.monotonic() - seconds
                late = [context for context, began in self._began.items() if began <= last]
            for context in late:
                context.cancel()


class FewReads:
    """Reads messages of calls that anybody may make: few at a time, since each may be as large as any other.

    The oldest read makes room for a new one: a message that has been sent is read at once, so what is old is a client
    that sends slowly, or nothing.
    """

    def __init__(self) -> None:
        self._trimmer = Trimmer()
        self._lock = threading.Lock()
        self._reading: collections.OrderedDict[Any, None] = collections.OrderedDict()

    def first(self, messages: Any, context: Any) -> bytes:
        """Returns the message of a call, which is aborted where nothing is sent."""
        with self._room(context):
            return _first(messages, context, self._trimmer)

    def each(self, messages: Any, context: Any) -> Iterator[bytes]:
        """Yields the messages of a call; between them it counts as one that sends slowly."""
        while True:
            with self._room(context):
                data = next(messages, None)
            if data is None:
                return
            self._trimmer.add(len(data))
            yield data

    @contextlib.contextmanager
    def _room(self, context: Any) -> Iterator[None]:
        oldest = None
        with self._lock:
            if len(self._reading) >= MOST_READS:
                oldest, _ = self._reading.popitem(last=False)
            self._reading[context] = None
        if oldest is not None:
            oldest.cancel()
        try:
            yield
        finally:
            with self._lock:
                self._reading.pop(context, None)


def _first(messages: Any, context: Any, trimmer: Trimmer) -> bytes:
    """Returns the message of a call, which is aborted where nothing is sent."""
    for data in messages:
        trimmer.add(len(data))
        return bytes(data)
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the call has no message")
    raise AssertionError  # abort raises, which its types do not say


class Trimmer:
    """Returns memory of messages to the system, which glibc would keep in pieces between what is still in use."""

    def __init__(self) -> None:
        self._trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries lack it
        self._lock = threading.Lock()
        self._bytes = 0

    def add(self, size: int) -> None:
        """Counts a message that was read."""
        with self._lock:
            before, self._bytes = self._bytes, self._bytes + size
        if self._trim is not None and before < _TRIMMED_BYTES <= before + size:
            threading.Thread(target=self._soon, name="trimmer", daemon=True).start()

    def _soon(self) -> None:
        time.sleep(_LOOK_SECONDS)
        with self._lock:
            self._bytes = 0
        self._trim(0)
