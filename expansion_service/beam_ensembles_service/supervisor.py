"""What is done for a runner that does not notice that one of its workers is gone.

Written for the Flink runner of Beam 2.62; the cause is the same in all of Beam's versions up to 2.76. The runner's task
sends rows through ``OutboundObserverFactory.serverDirect``, which makes it wait while the worker cannot take more. For
clients Beam ends that wait when the stream breaks, for servers it does not: when the worker dies, the task waits for
ever, nothing fails, and no restart strategy is asked. What ends the wait is the end of the process that holds the task:
Flink notices that at once, and runs the task again elsewhere.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

from beam_ensembles_service.listeners import is_listening, process_on
from beam_ensembles_service.worker_pool import LostWorker

_LOGGER: Final = logging.getLogger(__name__)
NOTICE_SECONDS: Final = 10.0
"""How long a runner has to notice by itself. It closes its control endpoint when it does."""
_END_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.5


class Supervisor:
    """Ends the runner's process beside this one where it hangs on a worker that is gone.

    Args:
        notice_seconds: How long a runner has to notice by itself.
        on_hanging: Called with whether any runner hangs, whenever that may have changed.
    """

    def __init__(
        self, notice_seconds: float = NOTICE_SECONDS, on_hanging: Callable[[bool], None] = lambda hangs: None
    ) -> None:
        self._notice_seconds = notice_seconds
        self._on_hanging = on_hanging
        self._lock = threading.Lock()
        self._hanging = 0

    def lost(self, worker: LostWorker) -> None:
        """Waits for the runner of a lost worker to notice; ends its process where it does not."""
        if _closes(worker.control, self._notice_seconds):
            _LOGGER.info("the runner at %s has let go of worker '%s'", worker.control, worker.worker_id)
            return
        self._hang(1)
        try:
            _end_runner(worker)
            while is_listening(worker.control):
                time.sleep(_LOOK_SECONDS)
        finally:
            self._hang(-1)

    def _hang(self, more: int) -> None:
        with self._lock:
            self._hanging += more
            self._on_hanging(self._hanging > 0)


def _closes(control: str, seconds: float) -> bool:
    """Whether a control endpoint is closed within some seconds."""
    deadline = time.monotonic() + seconds
    while is_listening(control):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _end_runner(worker: LostWorker) -> None:
    pid = process_on(worker.control)
    if pid is None or pid == os.getpid():
        _LOGGER.error(
            "the runner at %s waits for worker '%s', which is gone, and its process cannot be seen from here: "
            "end it, or restart it when the health of 'runner' is NOT_SERVING",
            worker.control,
            worker.worker_id,
        )
        return
    _LOGGER.error(
        "the runner at %s waits for worker '%s', which is gone (%s): ending its process %d, to be restarted",
        worker.control,
        worker.worker_id,
        worker.how,
        pid,
    )
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except OSError as error:
            _LOGGER.error("process %d cannot be ended: %s", pid, error.strerror)
            return
        if _closes(worker.control, _END_SECONDS):
            return
