"""A handler of a remote model for each thread: what Beam's throttling sees is one thread's calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class PerThread:
    """Keeps one handler per thread, as in Beam, where a DoFn has one thread and its own handler.

    To a throttle that is shared, calls that other threads are still waiting for look like failures.

    Args:
        make: Makes a handler, in the thread that first needs it.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._own = threading.local()

    def get(self) -> Any:
        """Returns this thread's handler."""
        if not hasattr(self._own, "handler"):
            self._own.handler = self._make()
        return self._own.handler
