"""The process of a model that workers share: ``python -m`` with this module, a pipe's number and a socket's path.

The node comes over the pipe from the worker that started the process. Then each connection to the socket sends columns
and gets answers, until the last one is closed: the model lives as long as some worker has it loaded, whichever that is.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Listener
from typing import Final

from beam_ensembles.graph.class_meanings import meanings_of
from beam_ensembles.graph.kinds import CheckedNode, Member
from beam_ensembles.handlers.support import isolated_process
from beam_ensembles.handlers.support.ended_contexts import load_here_or_move
from beam_ensembles.handlers.support.trial_rows import try_out
from beam_ensembles.processes import child_process
from beam_ensembles.processes.column_pipe import ColumnPipe
from beam_ensembles.processes.file_locks import lock_of, locked
from beam_ensembles.processes.machine import Machine

WELCOME: Final = "welcome"
"""What every connection gets first, with what the model knows of its columns; then the process waits for columns."""
_GONE: Final = (EOFError, OSError)
_PAUSE_SECONDS: Final = 0.1


def main() -> None:
    """Loads and tries the node that comes first, then answers whoever connects."""
    pipe, path = child_process.pipe_of(sys.argv[1]), sys.argv[2]
    with contextlib.suppress(EOFError):  # the worker that started this process is gone
        node = pipe.recv()
        member, error = isolated_process.loaded(node, _load_tried)
        if member is None:
            pipe.send(error)
        else:
            _serve(pipe, path, member)


def _load_tried(node: CheckedNode, machine: Machine) -> Member:
    """Loads a node and tries it; where its device fails, it moves to a process that can be replaced."""
    member = load_here_or_move(node, machine)
    try_out(node, member)
    return member


def _serve(pipe: ColumnPipe, path: str, member: Member) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a process that was killed
    with Listener(path, "AF_UNIX") as listener:
        users = _Users(path)
        # A process that a model forks must not hold these open: users could not tell that this process is gone.
        os.register_at_fork(after_in_child=listener.close)
        os.register_at_fork(after_in_child=users.close)
        users.serve(pipe, _wait)
        with contextlib.suppress(EOFError):
            pipe.send(None)
        while True:
            try:
                users.serve(ColumnPipe(listener.accept()), lambda connection: _answer(member, connection))
            except OSError:  # the user is gone again, or there are too many open files
                time.sleep(_PAUSE_SECONDS)


class _Users:
    """Who is connected. When nobody is any more, the process ends.

    Args:
        path: The socket; who looks for it or makes it holds its lock.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._count = 0
        self._open: set[ColumnPipe] = set()
        self._changing = threading.Lock()

    def serve(self, connection: ColumnPipe, talk: Callable[[ColumnPipe], None]) -> None:
        """Talks to a user in a thread of its own, until it is gone."""
        with self._changing:
            self._count += 1
            self._open.add(connection)
        threading.Thread(target=self._serve, args=(connection, talk), daemon=True).start()

    def close(self) -> None:
        """Closes all connections."""
        for connection in self._open:
            connection.close()

    def _serve(self, connection: ColumnPipe, talk: Callable[[ColumnPipe], None]) -> None:
        try:
            with contextlib.suppress(*_GONE), connection:
                talk(connection)
        finally:
            with self._changing:
                self._count -= 1
                self._open.discard(connection)
            if not self._count:
                self._end()

    def _end(self) -> None:
        """Ends the process, unless somebody has come meanwhile: under the lock nobody can."""
        with contextlib.suppress(FileNotFoundError), locked(self._path):
            if self._count:
                return
            os.unlink(self._path)
            os.unlink(lock_of(self._path))
        os._exit(0)  # also where the folder is gone, in which nobody can find the process any more


def _wait(starter: ColumnPipe) -> None:
    """Waits until the worker that started the process has connected, or is gone."""
    starter.recv()


def _answer(member: Member, connection: ColumnPipe) -> None:
    connection.send((WELCOME, meanings_of(member)))
    while True:
        connection.send(isolated_process.answer(member, connection.recv()))


if __name__ == "__main__":
    main()
