"""The real service in a process of its own, on a free port."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

from tests.support.patience import SECONDS

_READY = re.compile(r"beam-ensembles \S+ listening on (\S+:\d+)\n")
_ANY_USER = () if sys.platform == "linux" else ("--insecure",)
"""Elsewhere the service cannot tell which user of the machine connects."""


@dataclasses.dataclass
class RunningService:
    """A service that answers.

    Attributes:
        process: Its process; standard input is a pipe.
        address: Where it listens.
        first_line: What it printed.
    """

    process: subprocess.Popen[str]
    address: str
    first_line: str
    _log: list[str]

    @property
    def log(self) -> str:
        """What it has written to standard error so far."""
        return "".join(self._log)

    def end(self, with_signal: int = signal.SIGTERM) -> int:
        """Ends it by a signal and gives its exit code."""
        self.process.send_signal(with_signal)
        return self.process.wait(SECONDS)


def command(*flags: str) -> list[str]:
    """Returns the command line that starts a service."""
    return [sys.executable, "-m", "beam_ensembles_service", *flags]


@contextlib.contextmanager
def running_service(*flags: str) -> Iterator[RunningService]:
    """Starts a service on a free port, and ends it.

    Args:
        flags: Beyond ``--port 0``.
    """
    process = subprocess.Popen(
        command("--port", "0", *_ANY_USER, *flags),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    log: list[str] = []
    reader = threading.Thread(target=_read, args=(process, log))
    reader.start()
    alarm = threading.Timer(SECONDS, process.kill)
    alarm.start()
    try:
        first_line = process.stdout.readline()
        alarm.cancel()
        ready = _READY.fullmatch(first_line)
        assert ready, f"the service printed {first_line!r} and logged {''.join(log)}"
        yield RunningService(process, ready.group(1), first_line, log)
    finally:
        alarm.cancel()
        process.kill()
        process.wait()
        reader.join()
        for pipe in (process.stdin, process.stdout):
            pipe.close()


def _read(process: subprocess.Popen[str], log: list[str]) -> None:
    assert process.stderr is not None
    with process.stderr:
        log.extend(process.stderr)
