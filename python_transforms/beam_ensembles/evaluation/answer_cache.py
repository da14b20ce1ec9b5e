"""Answers of models, kept in a folder, so that an evaluation or a tuning of the same rows need not call them again.

An answer is found by the SHA-256 of everything that it depends on: what the ensemble file says of the node, its model's
files, the versions of the libraries, and the values of the columns that it reads. Whatever changes is asked again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import EnsembleError
from beam_ensembles.evaluation.collecting import NodeCost
from beam_ensembles.execution.answer_digest import answer_digest, file_state
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, Work
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.locks.making import environment
from beam_ensembles.processes.machine import Machine
from beam_ensembles.tables.whole_file import whole_file

_LOGGER: Final = logging.getLogger(__name__)
_FORM: Final = 1
"""Of the files; another one is not read."""


class AnswerCache:
    """Answers of models by what they were asked.

    Only models in files of this machine are kept: a server's model, or a handler's code, can change unnoticed.

    Args:
        folder: Where they are kept; it is made where it is not there.

    Raises:
        EnsembleError: There can be no such folder.
    """

    def __init__(self, folder: str) -> None:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise EnsembleError(
                f"the folder '{folder}' of the cache cannot be made: {error.strerror}"
            ) from error
        self._folder, self._lock = folder, threading.Lock()
        self._spared: dict[str, int] = {}
        self._has_warned = False

    def load(self, node: CheckedNode, machine: Machine) -> Member:
        """Loads a node, for ``LoadedStage``.

        Raises:
            EnsembleError: It cannot be loaded.
        """
        if not _is_kept(node):
            return load_member(node, machine)
        before = file_state(node)
        member, key = load_member(node, machine), _node_key(node)
        if file_state(node) != before:  # a file that was replaced may not be the one that answers
            return member
        return _Kept(member, self, node, key)

    def add_spared(self, costs: Mapping[str, NodeCost]) -> None:
        """Adds to the cost of each node how long the calls took whose answers were found here."""
        for name, nanoseconds in self._spared.items():
            costs[name].nanoseconds += nanoseconds

    def found(self, node: str, key: str, rows: int) -> Columns | None:
        """Returns the answers to a question; None where they are not kept, or, with a warning, are damaged.

        Args:
            node: Name of the node.
            key: The digest of the question.
            rows: How many rows it is about.
        """
        path = self._path(key)
        try:
            columns, nanoseconds = _read(path, rows)
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever is in the file, the model can be asked
            self._warn("'%s' of the cache cannot be used, so the models are asked again: %s", path, error)
            return None
        with self._lock:
            self._spared[node] = self._spared.get(node, 0) + nanoseconds
        return columns

    def keep(self, key: str, columns: Columns, rows: int, nanoseconds: int) -> None:
        """Keeps the answers to a question, unless they have values that are neither numbers nor texts."""
        path = self._path(key)
        content = _content(columns, rows, nanoseconds)
        if content is None:
            return
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with whole_file(path) as file:
                np.savez(file, allow_pickle=False, **content)
        except OSError as error:
            self._warn("'%s' of the cache cannot be written: %s", path, error.strerror)

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, key[:2], f"{key}.npz")

    def _warn(self, text: str, *args: object) -> None:
        """Warns once; what is wrong with one file is mostly wrong with others."""
        with self._lock:
            has_warned, self._has_warned = self._has_warned, True
        if not has_warned:
            _LOGGER.warning(text, *args)


class _Kept:
    """A member whose answers are kept.

    Args:
        member: It.
        cache: Where they are.
        node: Its node.
        key: What its answers depend on beside the columns that it reads.
    """

    def __init__(self, member: Member, cache: AnswerCache, node: CheckedNode, key: bytes) -> None:
        self.member, self._cache, self._name, self._key = member, cache, node.spec.name, key

    def __getattr__(self, name: str) -> Any:
        return getattr(self.member, name)

    def __call__(self, columns: Columns) -> Columns:
        key = _question(self._key, columns)
        if key is None:
            return self.member(columns)
        rows = max(map(len, columns.values()), default=0)
        found = self._cache.found(self._name, key, rows)
        if found is not None:
            return found
        start = time.perf_counter_ns()
        answered = self.member(columns)
        self._cache.keep(key, answered, rows, time.perf_counter_ns() - start)
        return answered


def _is_kept(node: CheckedNode) -> bool:
    """Whether all that a node's answers depend on beside its rows is known: its model is in files of this machine."""
    is_model = node.spec.kind == "model" and node.kind.name != "python"
    is_here = node.uri is not None and local_path(node.uri) is not None
    return is_model and is_here and node.kind.work not in (Work.LIGHT, Work.ELSEWHERE)


def _node_key(node: CheckedNode) -> bytes:
    """Returns a digest of what a node's answers depend on beside its rows."""
    known = [_FORM, answer_digest(node).hex(), environment()]
    return hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode()).digest()


def _question(key: bytes, columns: Columns) -> str | None:
    """Returns the digest of what a node is asked; None where a value's bytes are not known."""
    digest = hashlib.sha256(key)
    for name, values in sorted(columns.items()):
        head = json.dumps([name, values.dtype.str, values.shape]).encode()
        digest.update(len(head).to_bytes(8, "big") + head)
        if not values.dtype.hasobject:
            digest.update(values.tobytes())
            continue
        for value in values.ravel().tolist():
            part = _bytes_of(value)
            if part is None:
                return None
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _bytes_of(value: object) -> bytes | None:
    if value is None:
        return b"null"
    if isinstance(value, str):
        return b"text" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"data" + value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return json.dumps([value.dtype.str, value.shape]).encode() + value.tobytes()
    return None


def _content(columns: Columns, rows: int, nanoseconds: int) -> dict[str, np.ndarray] | None:
    """Returns the arrays of a file: a head, and each column; texts as JSON."""
    texts = [name for name, values in columns.items() if values.dtype.hasobject]
    head = {"names": list(columns), "texts": texts, "rows": rows, "nanoseconds": nanoseconds}
    found = {"head": _as_array(head)}
    for at, values in enumerate(columns.values()):
        if not values.dtype.hasobject:
            found[f"column{at}"] = values
            continue
        items = values.tolist()
        if values.ndim != 1 or not all(isinstance(item, str) for item in items):
            return None
        found[f"column{at}"] = _as_array(items)
    return found


def _read(path: str, rows: int) -> tuple[Columns, int]:
    """Returns the columns of a file, and how many nanoseconds the call took that made them.

    Raises:
        Exception: The file is damaged, or another number of rows was asked.
    """
    with np.load(path, allow_pickle=False) as file:
        head = json.loads(file["head"].tobytes())
        columns = {}
        for at, name in enumerate(head["names"]):
            values = file[f"column{at}"]
            if name in head["texts"]:
                values = np.array(json.loads(values.tobytes()), object)
            columns[name] = values
    lengths = {len(values) for values in columns.values()}
    if head["rows"] != rows or lengths != {rows}:
        raise ValueError(f"it has answers for {head['rows']} rows, not {rows}")
    return columns, int(head["nanoseconds"])


def _as_array(value: object) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
