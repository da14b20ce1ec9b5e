"""The process of a node with ``isolate: process``: ``python -m`` with this module, and a pipe's number."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from beam_ensembles import logs
from beam_ensembles.errors import ENDS_THE_PROGRAM, EnsembleError, NodeError
from beam_ensembles.graph.class_meanings import meanings_of
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.handlers.support.load_failures import reason
from beam_ensembles.handlers.support.loading_here import load_here
from beam_ensembles.handlers.support.trial_rows import Trial, trial_of
from beam_ensembles.messages.device_errors import ends_context
from beam_ensembles.processes import child_process
from beam_ensembles.processes.column_pipe import ColumnPipe
from beam_ensembles.processes.machine import Machine

TRY: Final = "try"
"""Asks the process to try the node; sent instead of columns."""


def main() -> None:
    """Loads the node that comes first, then answers one batch after another until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts the worker closes the pipe
    with child_process.pipe_of(sys.argv[1]) as pipe:
        child_process.end_with(pipe)
        try:
            node = pipe.recv()
            logs.to_stderr(logging.WARNING)  # the runner hears of no record of this process
            with logs.about(node.ensemble, node.spec.name):
                _serve(pipe, node)
        except EOFError:
            return


def _serve(pipe: ColumnPipe, node: CheckedNode) -> None:
    member, error = loaded(node)
    pipe.send((error, meanings_of(member)))
    while member is not None:
        asked = pipe.recv()
        found = _tried(node, member) if asked == TRY else answer(member, asked)
        pipe.send(found)
        if has_ended_context(found):
            return  # whoever asks next gets another process


def loaded(
    node: CheckedNode, load: Callable[[CheckedNode, Machine], Member] = load_here
) -> tuple[Member | None, EnsembleError | None]:
    """Loads a node: gives it, or why it cannot be loaded."""
    try:
        return load(node, Machine()), None
    except EnsembleError as error:
        return None, error
    except ENDS_THE_PROGRAM:
        raise
    except BaseException as error:  # whatever a model's own code raises
        return None, EnsembleError(f"node '{node.spec.name}' cannot be loaded: {reason(error)}")


def has_ended_context(found: object) -> bool:
    """Whether what a member raised says that its process cannot use the device any more.

    A row's own fault does not, whatever it quotes of the row.
    """
    if isinstance(found, NodeError) and found.code != "model_error":
        return False
    return isinstance(found, Exception) and ends_context(found)


def _tried(node: CheckedNode, member: Member) -> Trial | EnsembleError | None:
    """Returns what a trial of a member finds, or the error that it raises."""
    try:
        return trial_of(node, member)
    except EnsembleError as error:
        return error


def answer(member: Member, columns: Columns) -> Any:
    """Returns what a member gives, or why it does not; what cannot be sent is said in words that can."""
    try:
        return dict(member(columns))
    except ENDS_THE_PROGRAM:
        raise
    except BaseException as error:  # code that calls sys.exit() ends its row, not the process
        return NodeError.of(error)


if __name__ == "__main__":
    main()
