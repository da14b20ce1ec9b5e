"""Nodes that are loaded in this process; those that need PyTorch run in as few threads as there are calls at once."""

from __future__ import annotations

import functools

from beam_ensembles.errors import ENDS_THE_PROGRAM, EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.graph.class_meanings import meanings_of
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.processes.last_used_threads import LastUsed
from beam_ensembles.processes.machine import Machine


def load_here(node: CheckedNode, machine: Machine) -> Member:
    """Loads a node in this process; what needs PyTorch, in the threads that this has for it.

    Args:
        node: The node.
        machine: What this process has of its machine.

    Raises:
        EnsembleError: It cannot be loaded.
    """
    load = node.kind.load if node.kind.distribution is None else functools.partial(_load_foreign, node.kind)
    if not node.kind.needs_pytorch:
        return load(node)
    return _InThreads(machine.pytorch.run(functools.partial(load, node)), machine.pytorch)


def _load_foreign(kind: Kind, node: CheckedNode) -> Member:
    """Loads a node of a kind that a distribution adds; what goes wrong in there becomes one sentence."""
    try:
        member = kind.load(node)
        found: object = member  # whatever its annotations say
        if callable(found):
            return member
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


class _InThreads:
    """Calls a member in some threads."""

    def __init__(self, member: Member, threads: LastUsed) -> None:
        self._member, self._threads = member, threads
        self.meanings = meanings_of(member)

    def __call__(self, columns: Columns) -> Columns:
        return self._threads.run(functools.partial(self._member, columns))
