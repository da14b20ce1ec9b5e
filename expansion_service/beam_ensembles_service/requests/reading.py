"""Read the one message of a call, and cancel calls whose message never comes: each would hold a thread forever."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import grpc

READ_SECONDS: Final = 60.0
"""How long a client may take to send its message."""
_LOOK_SECONDS: Final = 1.0


class Reader:
    """Reads messages; one thread watches how long that takes, for all calls."""

    def __init__(self) -> None:
        self._ends: dict[Any, float] = {}
        self._lock = threading.Lock()
        self._watches = False

    def first(self, messages: Any, context: Any) -> bytes:
        """Returns the message of a call.

        Args:
            messages: What the client sends, read as it comes.
            context: The call's; it is cancelled where nothing comes in time, and aborted where nothing is sent.
        """
        with self._lock:
            self._ends[context] = time.monotonic() + READ_SECONDS
            if not self._watches:
                self._watches = True
                threading.Thread(target=self._watch, name="reader", daemon=True).start()
        try:
            for data in messages:
                return bytes(data)
        finally:
            with self._lock:
                del self._ends[context]
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the call has no message")
        raise AssertionError  # abort raises, which its types do not say

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            with self._lock:
                late = [context for context, end in self._ends.items() if end <= now]
            for context in late:
                context.cancel()
