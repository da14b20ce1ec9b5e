"""Stops or reports a runner that does not notice that one of its workers is gone.

Written for the Flink runner of Beam 2.62; the cause is the same in all of Beam's versions up to 2.76. The runner's task
sends rows through ``OutboundObserverFactory.serverDirect``, which makes it wait while the worker cannot take more. For
clients Beam ends that wait when the stream breaks, for servers it does not: when the worker dies, the task waits
forever, nothing fails, and no restart strategy is asked. Only the end of the process that holds the task ends the wait:
Flink notices that at once, and runs the task again elsewhere.

A caller may name any port as the one where it waits for workers. So a process is ended only if it was seen to hold both
the connection that asked for the worker and that port (``listeners.runner_of``), and as long as it is that process.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

from beam_ensembles_service.callers.listeners import is_listening, is_running, pid_of, signal_process
from beam_ensembles_service.workers.pool import LostWorker

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
        if worker.runner is None:
            _LOGGER.warning(
                "whoever asked for worker '%s' does not listen at %s itself: its runner is left alone",
                worker.worker_id,
                worker.control,
            )
            return
        if _lets_go(worker, self._notice_seconds):
            _LOGGER.info("the runner at %s has let go of worker '%s'", worker.control, worker.worker_id)
            return
        self._hang(1)
        try:
            _end_runner(worker)
            while _waits(worker):
                time.sleep(_LOOK_SECONDS)
        finally:
            self._hang(-1)

    def _hang(self, more: int) -> None:
        with self._lock:
            self._hanging += more
            self._on_hanging(self._hanging > 0)


def _waits(worker: LostWorker) -> bool:
    """Whether a runner is there, and still takes workers where it waited for this one."""
    process = worker.runner.process if worker.runner else None
    return (process is None or is_running(process)) and is_listening(worker.control)


def _lets_go(worker: LostWorker, seconds: float) -> bool:
    """Whether a runner does not wait for its worker any more within some seconds."""
    deadline = time.monotonic() + seconds
    while _waits(worker):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _end_runner(worker: LostWorker) -> None:
    process = worker.runner.process if worker.runner else None
    if process is None:
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
        pid_of(process),
    )
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            signal_process(process, number)
        except ProcessLookupError:
            return
        except OSError as error:
            _LOGGER.error("process %d cannot be ended: %s", pid_of(process), error.strerror)
            return
        if _lets_go(worker, _END_SECONDS):
            return
