"""``python -m beam_ensembles.processes.fork_server MODULE...``: what other processes are forked from.

It imports Beam, what stages need and the modules. It has one thread of Python's, runs no pipeline and loads no model:
what is copied has nothing half done in it. Its standard input is a socket to the process that has started it
(``processes/fork_client``): when that closes it ends, and so does the standard input of all that were forked.

``multiprocessing``'s fork server was tried in its place (Python 3.11). It runs the user's main script anew in each
process (one without ``if __name__ == "__main__"`` makes the start wait forever), gives each the environment that the
first was started with, leaves its processes running when its owner is killed, and waits for a start without a limit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib
import logging
import os
import signal
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final

import numpy as np

from beam_ensembles.processes.child_process import limit_threads
from beam_ensembles.processes.descriptor_passing import receive_descriptor
from beam_ensembles.processes.fork_client import HERE, Ended, Start, Started

_STAGES: Final = "beam_ensembles.runtime.stage_handler"
_REGISTRY: Final = "beam_ensembles.registry"


def main() -> None:
    """Forks processes as it is asked to until whoever started it is gone; in each, runs what it is for."""
    _import(_STAGES, *sys.argv[1:])
    server = _Server(Connection(os.dup(sys.stdin.fileno())))
    born = server.serve()
    if born is not None:
        server.become(born)
        sys.exit(importlib.import_module(born.request.module).main())


def _import(*names: str) -> None:
    logging.disable()  # who starts this process has said what Beam says while it is imported
    for name in names:
        importlib.import_module(name)
    list(importlib.import_module(_REGISTRY).OWN_KINDS.values())  # once, not in each process
    logging.disable(logging.NOTSET)
    logging.getLogger().handlers.clear()  # one that was made for it
    gc.freeze()  # or the collectors of those that are forked write to all that they share


@dataclasses.dataclass(frozen=True, slots=True)
class _Born:
    """What a process that was just forked has to know.

    Attributes:
        request: The request as received.
        connection: To the fork server.
        pipe: The number of its end of a pipe; none where it has none.
    """

    request: Start
    connection: Connection
    pipe: int | None


class _Server:
    """Waits for requests and for the end of processes.

    Args:
        owner: The connection to whoever has started this process.
    """

    def __init__(self, owner: Connection) -> None:
        self._owner = owner
        self._clients = [owner]
        self._asked_for: dict[int, Connection] = {}
        self._woken, wakes = os.pipe()
        # What is forked reads the one end as its standard input. This process alone has the other.
        self._until_the_end, the_end = os.pipe()
        self._ends = (self._woken, wakes, self._until_the_end, the_end)
        for end in (self._woken, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)

    def serve(self) -> _Born | None:
        """Serves until the owner is gone, and gives nothing; in a process that is forked, what that has to know."""
        while self._owner in self._clients:
            for ready in wait([*self._clients, self._woken]):
                if not isinstance(ready, Connection):
                    self._bury()
                elif (born := self._hear(ready)) is not None:
                    return born
        return None

    def become(self, born: _Born) -> None:
        """Resets a process that was just forked to the state of a new one."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for client in self._clients:
            client.close()
        self._settle_stdin(born)
        for end in self._ends:
            os.close(end)
        os.environ.clear()
        os.environ.update(born.request.environment)
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:] = list(dict.fromkeys([*filter(None, given), *sys.path]))
        limit_threads()
        np.random.seed()  # or all draw the same numbers
        with contextlib.suppress(OSError):  # for who lists processes; the kernel takes 15 characters
            Path("/proc/self/comm").write_text(born.request.module.rpartition(".")[2])
        sys.argv[1:] = [*([] if born.pipe is None else [str(born.pipe)]), *born.request.words]
        HERE.set(born.connection)

    def _settle_stdin(self, born: _Born) -> None:
        """A process that has no pipe, by whose end it could end, reads its standard input for that."""
        with open(os.devnull, "rb") as nothing:
            os.dup2(self._until_the_end if born.pipe is None else nothing.fileno(), sys.stdin.fileno())

    def _hear(self, client: Connection) -> _Born | None:
        try:
            request = client.recv()
            if isinstance(request, Start):
                return self._start(client, request)
            if request.pid in self._asked_for:  # its number is nobody else's until it is buried
                os.kill(request.pid, request.number)
        except (EOFError, OSError):
            self._clients.remove(client)
            client.close()
        return None

    def _start(self, client: Connection, request: Start) -> _Born | None:
        with contextlib.ExitStack() as opened:
            try:
                pipe = receive_descriptor(client) if request.has_pipe else None
                if pipe is not None:
                    opened.callback(os.close, pipe)
                ours, theirs = (opened.enter_context(end) for end in Pipe())
                pid = os.fork()
            except OSError:  # there are too many processes or files, or there is no memory for another
                client.send(Started(None))
                return None
            opened.pop_all()
        if pid == 0:
            ours.close()
            return _Born(request, theirs, pipe)
        theirs.close()
        if pipe is not None:
            os.close(pipe)
        self._clients.append(ours)
        self._asked_for[pid] = client
        client.send(Started(pid))
        return None

    def _bury(self) -> None:
        os.read(self._woken, 1024)
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                client = self._asked_for.pop(pid)
                with contextlib.suppress(OSError):  # it is gone, too
                    client.send(Ended(pid, os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main()
