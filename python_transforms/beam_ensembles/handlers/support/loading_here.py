"""Nodes that are loaded in this process; those that need PyTorch run in as few threads as there are calls at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.errors import (
    ENDS_THE_PROGRAM,
    BatchFailed,
    EnsembleError,
    InvalidEnsemble,
    Problem,
    listed,
)
from beam_ensembles.graph.class_meanings import meanings_of
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.processes.last_used_threads import LastUsed
from beam_ensembles.processes.machine import Machine
from beam_ensembles.types import dtype_of


def load_here(node: CheckedNode, machine: Machine) -> Member:
    """Loads a node in this process; what needs PyTorch, in the threads that this has for it.

    Args:
        node: The node.
        machine: What this process has of its machine.

    Raises:
        EnsembleError: It cannot be loaded.
    """
    load = _load_own if node.kind.distribution is None else functools.partial(_load_foreign, node.kind)
    if not node.kind.needs_pytorch:
        return load(node)
    return _InThreads(machine.pytorch.run(functools.partial(load, node)), machine.pytorch)


def _load_own(node: CheckedNode) -> Member:
    """Loads a node of a kind of this project.

    A panic of a Rust library (tokenizers, polars) is no ``Exception``, nor is ``SystemExit``: Beam would not report it,
    and the bundle would wait for an answer forever.
    """
    try:
        return node.kind.load(node)
    except (Exception, *ENDS_THE_PROGRAM):
        raise
    except BaseException as error:
        what = f"cannot load '{node.uri}'" if node.uri else "the node cannot be loaded"
        place = node.spec.path("uri" if node.uri else node.spec.kind)
        problem = Problem(place, "load_failed", f"{what}: {described(error)}")
        raise InvalidEnsemble([problem], ensemble=node.ensemble) from error


def _load_foreign(kind: Kind, node: CheckedNode) -> Member:
    """Loads a node of a kind that a distribution adds; what goes wrong in there becomes one sentence."""
    try:
        member = kind.load(node)
        found: object = member  # whatever its annotations say
        if callable(found):
            return _ChecksAnswers(member, node)
        fault = f"returns a {type(found).__name__}, which cannot be called with columns"
    except (EnsembleError, *ENDS_THE_PROGRAM):
        raise
    except BaseException as error:  # SystemExit of somebody else's code, too
        raise _load_failed(node, f"raises {described(error)}") from error
    raise _load_failed(node, fault)


def _load_failed(node: CheckedNode, fault: str) -> InvalidEnsemble:
    text = f"'load' of the kind '{node.kind.name}', of the installed distribution {node.kind.distribution}, {fault}"
    return InvalidEnsemble(
        [Problem(node.spec.path(node.spec.kind), "load_failed", text)], ensemble=node.ensemble
    )


class _ChecksAnswers:
    """Calls a member of somebody else's kind, and checks that each answer is what the node declares.

    Args:
        member: The member.
        node: Its node.
    """

    def __init__(self, member: Member, node: CheckedNode) -> None:
        self._member, self._node = member, node

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)

    def __call__(self, columns: Columns) -> Columns:
        """Returns the answer.

        Raises:
            BatchFailed: A column is missing, has another dtype, or another number of rows than the columns read.
        """
        answer = self._member(columns)
        rows = len(next(iter(columns.values()))) if columns else None
        if fault := _fault_of(answer, self._node, rows):
            kind = self._node.kind
            text = f"the kind '{kind.name}' of the installed distribution {kind.distribution} {fault}"
            raise BatchFailed("model_error", text)
        return answer


def _fault_of(answer: object, node: CheckedNode, rows: int | None) -> str:
    """Returns what is wrong with an answer, as the end of a sentence; nothing where it is right."""
    if not isinstance(answer, Mapping):
        return f"returned a {type(answer).__name__}, not a mapping of columns"
    for name, type_ in node.outputs.items():
        if name not in answer:
            return f"returned no column '{name}' (it returned: {listed(list(map(str, answer)))})"
        values, wanted = answer[name], dtype_of(type_)
        if not isinstance(values, np.ndarray):
            return f"returned a {type(values).__name__} for '{name}', not a numpy array"
        if rows is not None and len(values) != rows:
            return f"returned {len(values)} values for '{name}' for {rows} rows"
        if wanted is not None and values.dtype != wanted:
            return f"returned {values.dtype} values for '{name}', which is declared {type_} ({wanted})"
    return ""


class _InThreads:
    """Calls a member in some threads."""

    def __init__(self, member: Member, threads: LastUsed) -> None:
        self._member, self._threads = member, threads
        self.meanings = meanings_of(member)

    def __call__(self, columns: Columns) -> Columns:
        return self._threads.run(functools.partial(self._member, columns))
