"""Members that several worker processes share, and members with several copies: ``large_model``, ``model_copies``.

Each copy lives in a process of its own, ``shared_process``, and a call carries columns; the whole node is shared, so
that the same holds for every framework. Beam shares what a handler loads by its ``MultiProcessShared``. That one (2.77)
listens on a port with a key that is in its source, so that every user of the machine may have it run code; it imports
the user's main script once more; and its model ends with the worker that was first, and never before. Here copies are
found by a socket in a folder of this user alone, and end with the last worker that has them loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import logging
import os
import pickle
import queue
import stat
import tempfile
import threading
from collections.abc import Mapping
from multiprocessing.connection import Client
from typing import Any, Final

from beam_ensembles.errors import BatchFailed, EnsembleError, NodeError
from beam_ensembles.files.file_changes import state_of
from beam_ensembles.graph.class_meanings import Meaning
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.handlers.support import shared_process
from beam_ensembles.handlers.support.beam_config import config_of
from beam_ensembles.handlers.support.ended_contexts import load_here_or_move
from beam_ensembles.handlers.support.isolated_members import IsolatedMember
from beam_ensembles.handlers.support.trial_rows import try_out
from beam_ensembles.processes import child_process
from beam_ensembles.processes.column_pipe import ColumnPipe
from beam_ensembles.processes.file_locks import locked
from beam_ensembles.processes.machine import Machine

_LOGGER: Final = logging.getLogger(__name__)
_NOBODY_THERE: Final = (EOFError, FileNotFoundError, ConnectionError)
_LONGEST_ADDRESS: Final = 100
"""Bytes that the path of a socket may have; systems allow 103 to 107."""


def load_member(node: CheckedNode, machine: Machine) -> Member:
    """Loads a node and tries it: here, in a process of its own (``isolate``), or in some that all share (``config``).

    Args:
        node: The node.
        machine: What this process has of its machine.

    Raises:
        EnsembleError: It cannot be loaded, or its trial shows that it cannot be right.
    """
    member = load_untried(node, machine)
    try_out(node, member)
    return member


def load_untried(node: CheckedNode, machine: Machine) -> Member:
    """Loads a node as ``load_member`` does; only the process of a shared model tries it.

    Raises:
        EnsembleError: It cannot be loaded.
    """
    if node.spec.isolated:
        return IsolatedMember(node)
    config = config_of(node.options)
    if not config.get("large_model") and config.get("model_copies") is None:
        return load_here_or_move(node, machine)
    return SharedMember(node, copies=config.get("model_copies") or 1)


class SharedMember:
    """A node that runs in other processes, one a copy; calls take the copies in turn.

    Args:
        node: The node.
        copies: How many copies there are on this machine.
    """

    def __init__(self, node: CheckedNode, copies: int) -> None:
        tag = _digest(node)
        self._copies = [_Copy(node, _address(f"{tag}-{number}")) for number in range(copies)]
        self._turns = itertools.count()
        self.meanings = self._copies[0].meanings

    def __call__(self, columns: Columns) -> Columns:
        """Runs one of the copies.

        Raises:
            NodeError: What the node raised there.
        """
        answer = self._copies[next(self._turns) % len(self._copies)].run(dict(columns))
        if isinstance(answer, Exception):
            try:
                raise answer
            finally:
                del answer  # its traceback has this frame, which keeps the connections
        found: Columns = answer
        return found

    def trial(self) -> None:
        """Finds nothing: each copy was tried once, in its own process."""


class _Copy:
    """This process's way to one copy: connections, as many as threads have called it at one time.

    Args:
        node: The node.
        address: The path of its socket.

    Raises:
        EnsembleError: The node cannot be loaded.
    """

    def __init__(self, node: CheckedNode, address: str) -> None:
        self._node, self._address = node, address
        self.meanings: Mapping[str, Meaning] | None = None
        self._idle: queue.SimpleQueue[ColumnPipe] = queue.SimpleQueue()
        self._idle.put(self._connected())

    def run(self, columns: dict[str, Any]) -> Any:
        """Sends columns and gives the answer; where the process has died, the next one gets them once.

        Raises:
            BatchFailed: ``process_died``: that one died too, or cannot be reached or started.
        """
        try:
            return self._asked_twice(columns)
        except EOFError:
            text = f"the process of the shared model '{self._node.spec.name}' died twice on these rows"
        except OSError as error:
            text = f"the process of the shared model '{self._node.spec.name}' cannot be reached: {error.strerror}"
        except NodeError:
            raise
        except EnsembleError as error:
            text = str(error)
        raise BatchFailed("process_died", text)

    def _asked_twice(self, columns: dict[str, Any]) -> Any:
        try:
            return self._ask(self._connection(), columns)
        except EOFError:
            _LOGGER.warning(
                "the process of the shared model '%s' is gone; it is started again", self._node.spec.name
            )
        self._forget()
        return self._ask(self._connected(), columns)

    def _ask(self, connection: ColumnPipe, columns: dict[str, Any]) -> Any:
        try:
            connection.send(columns)
            answer = connection.recv()
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)
        return answer

    def _connection(self) -> ColumnPipe:
        with contextlib.suppress(queue.Empty):
            return self._idle.get_nowait()
        return self._connected()

    def _forget(self) -> None:
        """Closes the connections that wait: they lead to the same process."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def _connected(self) -> ColumnPipe:
        """Connects to the process, which whoever comes first starts."""
        with locked(self._address):
            try:
                return self._welcomed()
            except _NOBODY_THERE:
                starter = _start(self._node, self._address)
            with starter:
                return self._welcomed()

    def _welcomed(self) -> ColumnPipe:
        connection = ColumnPipe(Client(self._address, "AF_UNIX"))
        try:
            _, meanings = connection.recv()
            if self.meanings is not None and meanings != self.meanings:
                text = f"the shared model '{self._node.spec.name}' was replaced by one of other classes"
                raise EnsembleError(f"{text}; start the pipeline again")
        except BaseException:
            connection.close()
            raise
        self.meanings = meanings
        return connection


def _start(node: CheckedNode, address: str) -> ColumnPipe:
    """Starts the process of a copy; while the pipe is open that this gives, it waits for its first user."""
    process, pipe = child_process.start(shared_process.__name__, address, own_session=True)
    # It outlives this worker where others use it; where it ends first, it is waited for.
    threading.Thread(target=process.wait, daemon=True, name="shared model").start()
    try:
        pipe.send(node)
        error = pipe.recv()
    except (EOFError, OSError) as exc:
        pipe.close()
        how = child_process.how_it_ended(process)
        raise EnsembleError(
            f"the process of the shared model '{node.spec.name}' died{how} before it had loaded the model"
        ) from exc
    if error is not None:
        pipe.close()
        raise error
    return pipe


def _digest(node: CheckedNode) -> str:
    """Names a node by all that it is made of, so that only those who mean the same share it."""
    digest = hashlib.sha256(pickle.dumps(node))
    if node.uri is not None:
        digest.update(repr(state_of(node.uri, node.kind.files_beside)).encode())
    return digest.hexdigest()[:16]


def _address(name: str) -> str:
    """Returns the path of a socket in a folder of this user alone; where that is too long for one, below /tmp."""
    for place in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - nobody else can write into the folder that is made
        address = os.path.join(place, f"beam-ensembles-{os.getuid()}", name)
        if len(os.fsencode(address)) <= _LONGEST_ADDRESS:
            break
    folder = os.path.dirname(address)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise EnsembleError(f"shared models need '{folder}' as a folder that is yours and nobody else's")
    return address
