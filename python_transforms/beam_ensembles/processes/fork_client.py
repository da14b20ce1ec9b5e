"""Processes that ``fork_server`` forks from one that has imported Beam, for the process that asks for them.

A process that imports Beam itself needs two seconds for that; one that is forked has all that the fork server has, and
shares its memory. A pool of workers starts a fork server. A process that is forked may have others forked from it, too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import multiprocessing
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Final

from beam_ensembles.processes.descriptor_passing import send_descriptor

CAN_FORK: Final = sys.platform == "linux"
"""Elsewhere libraries of the system may not be forked once they are loaded."""
_LOGGER: Final = logging.getLogger(__name__)
_STDERR: Final = 2
_START_SECONDS: Final = 60.0
"""How long it may take to fork a process, the imports of a fork server that has just been started among it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """Asks for a process that runs a module's ``main``; ``Started`` answers.

    Attributes:
        module: Its name.
        words: What ``main`` finds in ``sys.argv``, behind the number of its pipe where it has one.
        environment: The environment of the process.
        has_pipe: Whether the process's end of a pipe follows.
    """

    module: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    has_pipe: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Signal:
    """Sends a signal to a process that has not ended."""

    pid: int
    number: int


@dataclasses.dataclass(frozen=True, slots=True)
class Started:
    """A process was started, or could not be.

    Attributes:
        pid: Which one.
    """

    pid: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """A process has ended.

    Attributes:
        pid: Which one.
        code: Its exit code; less than 0: minus the signal that ended it.
    """

    pid: int
    code: int


class ForkedProcess:
    """A process, with what is used of ``subprocess.Popen``.

    Attributes:
        pid: Its number.
        stdin: None: no process that asks for one holds its standard input.
        returncode: Its exit code, less than 0 for a signal; None while it runs.
    """

    stdin: Final = None

    def __init__(self, pid: int, server: ForkServer) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server
        self._ended = threading.Event()

    def end(self, code: int) -> None:
        """Notes that it has ended."""
        self.returncode = code
        self._ended.set()

    def poll(self) -> int | None:
        """Returns ``returncode``."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end, and gives its exit code.

        Raises:
            subprocess.TimeoutExpired: It goes on.
        """
        if not self._ended.wait(timeout) or self.returncode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return self.returncode

    def terminate(self) -> None:
        """Asks it to end."""
        self._server.send_signal(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Ends it."""
        self._server.send_signal(self.pid, signal.SIGKILL)


class ForkServer:
    """A fork server, at the end of a connection.

    Args:
        connection: Through a Unix socket.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._starting, self._sending = threading.Lock(), threading.Lock()
        self._started: queue.SimpleQueue[ForkedProcess | None] = queue.SimpleQueue()
        self._hangs = False
        self._running: dict[int, ForkedProcess] = {}
        threading.Thread(target=self._receive, daemon=True).start()

    def start(
        self,
        module: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        pipe: Connection | None = None,
    ) -> ForkedProcess | None:
        """Starts a process.

        Args:
            module: The module whose ``main`` runs in it.
            words: Its arguments.
            environment: Its environment.
            pipe: Its end of a pipe, whose number there is the first argument.

        Returns:
            The process; None where the fork server is gone, or cannot have another.
        """
        request = Start(module, tuple(words), environment, pipe is not None)
        with self._starting, contextlib.suppress(OSError, queue.Empty):
            if self._hangs:
                return None
            with self._sending:
                self._connection.send(request)
                if pipe is not None:
                    send_descriptor(self._connection, pipe.fileno())
            self._hangs = True
            started = self._started.get(timeout=_START_SECONDS)
            self._hangs = False
            return started
        return None

    def send_signal(self, pid: int, number: int) -> None:
        """Sends a process a signal, where it has not ended."""
        with self._sending, contextlib.suppress(OSError):
            self._connection.send(Signal(pid, number))

    def _receive(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                match self._connection.recv():
                    case Started(None):
                        self._started.put(None)
                    case Started(int(pid)):
                        self._running[pid] = ForkedProcess(pid, self)
                        self._started.put(self._running[pid])
                    case Ended(pid, code):
                        self._running.pop(pid).end(code)
        self._say_gone()
        for process in self._running.values():
            process.end(-signal.SIGKILL)  # it has nobody left who would tell how it ends
        self._started.put(None)

    def _say_gone(self) -> None:
        """Is called when the fork server is gone."""


class OwnForkServer(ForkServer):
    """A fork server that this process starts; does not wait until it has imported what is needed.

    Args:
        modules: What it imports beside what stages need.
        environment: Its environment, where that is not this process's own.
    """

    def __init__(self, *modules: str, environment: Mapping[str, str] | None = None) -> None:
        self._is_asked_to_end = False
        ours, theirs = multiprocessing.Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this Python, with a module of this package
                [*python(), "-m", "beam_ensembles.processes.fork_server", *modules],
                env=own_environment() if environment is None else environment,
                stdin=theirs.fileno(),
                stdout=_STDERR,
                start_new_session=True,
            )
        super().__init__(ours)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """Ends it, and with it the processes that are left."""
        self._is_asked_to_end = True
        self._process.kill()  # it has nothing to finish
        self._process.wait()

    def _say_gone(self) -> None:
        code = self._process.wait()
        if not self._is_asked_to_end:
            text = "the process that workers are forked from ended with exit code %d, and its workers with it"
            _LOGGER.warning(text, code)


def python() -> list[str]:
    """Returns how Python is started so that it finds no other modules than this process does: see ``own_environment``.

    ``-P``: none of the current folder. ``-S``, as in ``pack --try``: none of an editable install's ``.pth`` file.
    """
    return [sys.executable, *(["-S"] if sys.flags.no_site else []), "-P"]


def own_environment() -> dict[str, str]:
    """Returns the environment of a process that finds the modules that this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class _Here:
    """What this process knows of the fork server that it was forked from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._server: ForkServer | None = None
        self._pid = 0

    def set(self, connection: Connection) -> None:
        """Notes the connection to it."""
        self._connection, self._pid = connection, os.getpid()

    def get(self) -> ForkServer | None:
        """Returns it; none where this process was started in another way."""
        with self._lock:
            if self._connection is None or self._pid != os.getpid():
                return None
            if self._server is None:
                self._server = ForkServer(self._connection)
            return self._server


HERE: Final = _Here()
"""The fork server that this process was forked from."""
