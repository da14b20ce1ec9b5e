"""Members in a process of their own that can be killed: ``isolate: process``."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import BatchFailed, EnsembleError, NodeError
from beam_ensembles.graph.class_meanings import Meaning
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.support import isolated_process
from beam_ensembles.handlers.support.trial_rows import Trial
from beam_ensembles.processes import child_process

_MOST_IN_A_ROW: Final = 24
"""More calls without an answer than the search for a bad row among a thousand takes: no row is the cause then."""

_LOADING: Final = 3_600.0
"""Seconds that loading may take."""

_TRYING: Final = 300.0
"""Seconds that a trial may take."""


class IsolatedMember:
    """A node that runs in a child process; the child is killed where it takes too long, and started again.

    A worker's bundles share it, each in its thread: the child is asked by one of them after another.

    Args:
        node: The node.

    Raises:
        EnsembleError: The node cannot be loaded there.
    """

    def __init__(self, node: CheckedNode) -> None:
        self._node = node
        timeout = node.spec.options.get("timeout")
        self._timeout = None if timeout is None else float(timeout)
        self._asking = threading.Lock()
        self._unanswered = 0
        self._child: _Child | None = None
        self.meanings: Mapping[str, Meaning] = {}
        self._start()

    def __call__(self, columns: Columns) -> Columns:
        """Runs the node on columns in the child.

        Raises:
            NodeError: What it raised there; ``timeout`` where it took too long, ``process_died`` where it died.
        """
        with self._asking:
            answer = self._ask(columns)
        if isinstance(answer, Exception):
            raise answer
        found: Columns = answer
        return found

    def _ask(self, columns: Columns) -> Any:
        running = self._child or self._started_again()
        try:
            answer = running.ask(dict(columns), self._timeout)
            if isolated_process.has_ended_context(answer):
                raise _NoAnswer("process_died", f"its process was ended, as its device failed: {answer}")
        except _NoAnswer as error:
            self._end()
            self._unanswered += 1
            kind = NodeError if self._unanswered < _MOST_IN_A_ROW else BatchFailed
            raise kind(error.code, str(error)) from None
        except BaseException:
            self._end()  # or its answer would be taken for that to the next rows
            raise
        self._unanswered = 0
        return answer

    def trial(self) -> Trial | None:
        """Have the child try the node. One that dies or hangs has shown nothing of real rows: it is started again.

        Raises:
            InvalidEnsemble: The node cannot be right.
        """
        with self._asking:
            running = self._child or self._started_again()
            try:
                running.send(isolated_process.TRY)
                found: Trial | EnsembleError | None = running.receive(_TRYING)
            except _NoAnswer as error:
                self._end()
                return Trial(refused=str(error))
        if isinstance(found, EnsembleError):
            raise found
        return found

    def _started_again(self) -> _Child:
        """Starts the child in the middle of a pipeline: where it does not start, that is no row's fault."""
        try:
            return self._start()
        except EnsembleError as error:
            raise BatchFailed("process_died", str(error)) from error

    def _start(self) -> _Child:
        started = _Child()
        weakref.finalize(self, started.let_go)
        try:
            started.send(self._node)
            error, meanings = started.receive(_LOADING)
        except _NoAnswer as exc:
            started.end()
            text = f"the process of node '{self._node.spec.name}' did not load its model: {exc}"
            raise EnsembleError(text) from None
        if error is not None:
            started.end()
            raise error
        if self.meanings and meanings != self.meanings:
            started.end()
            text = f"the model of node '{self._node.spec.name}' was replaced by one of other classes"
            raise EnsembleError(f"{text}; start the pipeline again")
        self._child, self.meanings = started, meanings
        return started

    def _end(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None


class _NoAnswer(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Child:
    """The child process and this end of the pipe to it."""

    def __init__(self) -> None:
        self._process, self._pipe = child_process.start(isolated_process.__name__)

    def send(self, value: Any) -> None:
        """Sends a value; a child that is gone is found out when its answer is read.

        Raises:
            _NoAnswer: It cannot be sent.
        """
        try:
            with contextlib.suppress(EOFError):
                self._pipe.send(value)
        except OSError as error:
            raise _cut_off(error) from None

    def ask(self, columns: dict[str, Any], timeout: float | None) -> Any:
        """Sends columns and gives the answer."""
        self.send(columns)
        return self.receive(timeout)

    def receive(self, timeout: float | None) -> Any:
        """Returns what the child sends next.

        Raises:
            _NoAnswer: It sends nothing in that time, or is gone.
        """
        try:
            if not self._pipe.poll(timeout):
                raise _NoAnswer("timeout", f"there was no answer within {timeout:g} s; its process was ended")
            return self._pipe.recv()
        except EOFError:
            how = child_process.how_it_ended(self._process)
            raise _NoAnswer("process_died", f"its process died{how}") from None
        except OSError as error:
            raise _cut_off(error) from None

    def end(self) -> None:
        """Kills the child."""
        child_process.end(self._process, self._pipe)

    def let_go(self) -> None:
        """Ends the child, where Python collects garbage."""
        child_process.let_go(self._process, self._pipe)


def _cut_off(error: OSError) -> _NoAnswer:
    """Ends a child that runs but cannot be reached, and returns the error."""
    return _NoAnswer(
        "process_died", f"its process could not be reached, so the worker ended it: {error.strerror}"
    )
