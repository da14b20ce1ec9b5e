"""Members that several worker processes share, and members with several copies: ``large_model``, ``model_copies``.

Beam shares the model that a handler loads, and its calls carry what the handler passes to it. Here the whole node is
shared, by the same means (``MultiProcessShared``), so that the same holds for every framework: each copy lives in a
process of its own, and a call carries columns. Written for Beam 2.77.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import os
import pickle
import tempfile
from typing import Any, Final

from beam_ensembles.errors import EnsembleError, NodeError
from beam_ensembles.graph.files import local_path
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member
from beam_ensembles.handlers.isolation import IsolatedMember

_LOGGER: Final = logging.getLogger(__name__)
_GONE: Final = (ConnectionError, EOFError)


def load_member(kind: Kind, node: CheckedNode) -> Member:
    """Loads a node: in this process, in one of its own (``isolate``), or in some that all workers share (``config``).

    Args:
        kind: The node's kind.
        node: The node.

    Raises:
        EnsembleError: It cannot be loaded.
    """
    if node.spec.isolated:
        return IsolatedMember(kind, node)
    config = node.spec.options.get("config") or {}
    if not config.get("large_model") and config.get("model_copies") is None:
        return kind.load(node)
    return SharedMember(kind, node, copies=config.get("model_copies") or 1)


class SharedMember:
    """A node that runs in other processes, one a copy; calls take the copies in turn.

    Args:
        kind: The node's kind.
        node: The node.
        copies: How many copies there are on this machine.
    """

    def __init__(self, kind: Kind, node: CheckedNode, copies: int) -> None:
        tag = _digest(node)
        self._copies = [_Connection(kind, node, f"{tag}-{number}") for number in range(copies)]
        self._turns = itertools.count()
        for copy in self._copies:
            copy.connect()

    def __call__(self, columns: Columns) -> Columns:
        """Runs one of the copies."""
        return self._copies[next(self._turns) % len(self._copies)].run(columns)


class _Connection:
    """This process's way to one copy, which whoever comes first starts."""

    def __init__(self, kind: Kind, node: CheckedNode, tag: str) -> None:
        from apache_beam.utils.multi_process_shared import MultiProcessShared

        make = functools.partial(_Copy, kind, node)
        self._shared = functools.partial(
            MultiProcessShared, make, tag, path=_folder(), always_proxy=True, spawn_process=True
        )
        self._copy: Any = None
        self._keeper: Any = None

    def connect(self) -> None:
        self._keeper = self._shared()
        self._copy = self._keeper.acquire()
        error = self._copy.error()
        if error is not None:
            raise error

    def run(self, columns: Columns) -> Columns:
        copy = self._copy
        try:
            return copy.run(columns)  # type: ignore[no-any-return]
        except _GONE:
            _LOGGER.warning("the process of a shared model is gone; it is started again")
            if self._copy is copy:
                self.connect()
            return self._copy.run(columns)  # type: ignore[no-any-return]


class _Copy:
    """The node in its own process. What goes wrong is given back: Beam would show it as a traceback."""

    def __init__(self, kind: Kind, node: CheckedNode) -> None:
        self._error: EnsembleError | None = None
        try:
            self._member = kind.load(node)
        except EnsembleError as error:
            self._error = error

    def error(self) -> EnsembleError | None:
        """Says why it could not be loaded, if it could not."""
        return self._error

    def run(self, columns: Columns) -> Columns:
        """Runs the node."""
        try:
            return self._member(columns)
        except Exception as error:
            raise NodeError.of(error) from None


def _digest(node: CheckedNode) -> str:
    """Names a node by all that it is made of, so that only those who mean the same share it."""
    digest = hashlib.sha256(pickle.dumps(node))
    path = local_path(node.uri) if node.uri is not None else None
    if path is not None:
        found = os.stat(path)
        digest.update(f"{found.st_size} {found.st_mtime_ns}".encode())
    return f"{node.spec.name}-{digest.hexdigest()[:32]}"


def _folder() -> str:
    """Gives the folder of this user alone in which processes find each other."""
    folder = os.path.join(tempfile.gettempdir(), f"beam-ensembles-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise EnsembleError(f"'{folder}' belongs to somebody else; shared models need it")
    return folder
