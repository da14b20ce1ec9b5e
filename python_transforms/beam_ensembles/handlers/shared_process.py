"""``python -m beam_ensembles.handlers.shared_process PIPE SOCKET``: the process of a model that workers share.

The node comes over the pipe from the worker that started the process. Then each connection to the socket sends columns
and gets answers, until the last one is closed: the model lives as long as some worker has it loaded, whichever that is.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Listener
from typing import Final

from beam_ensembles.graph.kinds import Member
from beam_ensembles.handlers import child, isolated_process
from beam_ensembles.handlers.column_pipe import ColumnPipe
from beam_ensembles.handlers.locking import lock_of, locked

WELCOME: Final = "welcome"
"""What every connection gets first; whoever has read it knows that the process waits for its columns."""
_GONE: Final = (EOFError, OSError)


def main() -> None:
    """Loads the node that comes first, then answers whoever connects."""
    pipe, path = child.pipe_of(sys.argv[1]), sys.argv[2]
    kind, node = pipe.recv()
    member, error = isolated_process.loaded(kind, node)
    if member is None:
        pipe.send(error)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a process that was killed
    with Listener(path, "AF_UNIX") as listener:
        users = _Users(path)
        users.serve(pipe, _wait)
        pipe.send(None)
        while True:
            with contextlib.suppress(*_GONE):
                users.serve(ColumnPipe(listener.accept()), lambda connection: _answer(member, connection))


class _Users:
    """Who is connected. When nobody is any more, the process ends.

    Args:
        path: The socket; who looks for it or makes it holds its lock.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._count = 0
        self._changing = threading.Lock()

    def serve(self, connection: ColumnPipe, talk: Callable[[ColumnPipe], None]) -> None:
        """Talks to a user in a thread of its own, until it is gone."""
        with self._changing:
            self._count += 1
        threading.Thread(target=self._serve, args=(connection, talk), daemon=True).start()

    def _serve(self, connection: ColumnPipe, talk: Callable[[ColumnPipe], None]) -> None:
        try:
            with contextlib.suppress(*_GONE), connection:
                talk(connection)
        finally:
            with self._changing:
                self._count -= 1
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
    connection.send(WELCOME)
    while True:
        connection.send(isolated_process.answer(member, connection.recv()))


if __name__ == "__main__":
    main()
