"""Every exception of the project.

    EnsembleError
    ├── InvalidEnsemble      the file, the call or the input schema is wrong: found before anything runs
    └── NodeError            a node failed on one or more rows: found while running
        ├── BatchFailed      a node failed for a reason that is no row's: the batch is not split to find one
        ├── SomeFailed       a node failed on some rows that it names: the others have their answers
        └── RowFailed        a row failed and the caller took no error output: fails the bundle
    ModelFormatError         what reads a model's file found another one: a kind makes a problem or a warning of it

A message says what was found, where, what is allowed and what is nearest. It is one line and never holds a traceback.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

from beam_ensembles import logs
from beam_ensembles.limits import LONGEST_MESSAGE, LONGEST_PLACE, MOST_PROBLEMS, MOST_SHOWN
from beam_ensembles.messages.device_errors import is_out_of_memory
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.messages.printable import printable, truncate
from beam_ensembles.messages.wording import few_suggestions as few_suggestions
from beam_ensembles.messages.wording import listed as listed
from beam_ensembles.messages.wording import nearest as nearest
from beam_ensembles.messages.wording import nearest_of as nearest_of

_SAYS_NO_VALUES = frozenset(
    (
        "load_failed",
        "member_missing",
        "misaligned",
        "no_case",
        "null_value",
        "out_of_memory",
        "quorum_missed",
        "wrong_length",
    )
)
"""Codes whose messages are of this project's making and name columns, types and lengths, never a row's values."""
_TYPE_OF_ERROR = re.compile(r"[A-Za-z_]\w*(?:Error|Exception)(?=:|$)")

_OWN_FOLDER = pathlib.Path(__file__).parent
_INSTALLED = frozenset(("site-packages", "dist-packages"))
"""Names of folders that hold installed code."""

ENDS_THE_PROGRAM = (KeyboardInterrupt, GeneratorExit)
"""What foreign code may raise that is no failure of its own; all else is, ``SystemExit`` too."""

OUT_OF_MEMORY = "out_of_memory"
"""The code of rows that do not fit in memory."""

WHOLE_FILE = "$"
"""The path of a problem that belongs to the file as a whole."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong, in the words of the ensemble file.

    Attributes:
        path: Where: dotted keys with list indices (``nodes.vote.inputs[1]``), ``$`` for the whole file,
            ``input.<field>`` for the incoming rows.
        code: Stable name of the kind of mistake (``unknown_column``), explained in
            ``docs/reference/errors.md``.
        message: One line: what was found, what is allowed, what is nearest. Characters that cannot be seen are
            escaped, and it is cut where it is long.
    """

    path: str
    code: str
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", truncate(self.path, LONGEST_PLACE))
        message = printable(" ".join(self.message[: 2 * LONGEST_MESSAGE].split()))
        object.__setattr__(self, "message", truncate(message, LONGEST_MESSAGE))

    def __str__(self) -> str:
        return printable(f"[{self.code}] {self.path}: {self.message}")


class EnsembleError(Exception):
    """Base of every error that this project raises."""

    _tagged_with_step = True  # so that Beam 2.77 raises it as it is, instead of a copy made of its text

    def _render_traceback_(self) -> list[str]:
        """Returns the lines that notebooks show: the caller's own frames and the message, no frames of libraries."""
        frames = [frame for frame in traceback.extract_tb(self.__traceback__) if not _is_of_library(frame)]
        return [*"".join(traceback.format_list(frames)).splitlines(), f"{type(self).__name__}: {self}"]


def _is_of_library(frame: traceback.FrameSummary) -> bool:
    """Whether code is this project's or installed, rather than the caller's."""
    path = pathlib.PurePath(frame.filename)
    return path.is_relative_to(_OWN_FOLDER) or not _INSTALLED.isdisjoint(path.parts)


class InvalidEnsemble(EnsembleError):
    """The ensemble, its configuration or its input cannot be right; carries the problems found.

    Args:
        problems: The problems found, at least one; the first ``limits.MOST_PROBLEMS`` are kept.
        ensemble: Name of the ensemble where it is known.
        count: How many problems there are, where they are more.

    Attributes:
        count: How many problems there are, those that were not kept among them.
    """

    def __init__(
        self, problems: Iterable[Problem], *, ensemble: str | None = None, count: int | None = None
    ) -> None:
        found = tuple(dict.fromkeys(problems))
        self.problems: tuple[Problem, ...] = found[:MOST_PROBLEMS]
        self.count = len(found) if count is None else count
        self.ensemble = ensemble
        super().__init__(self._text())

    def _text(self) -> str:
        name = f"ensemble '{printable(self.ensemble)}'" if self.ensemble else "the ensemble"
        count = self.count
        head = f"{self._said_of(name)}: {count} problem{'' if count == 1 else 's'}"
        shown = [f"  {problem}" for problem in self.problems[:MOST_SHOWN]]
        more = [f"  and {count - len(shown)} more"] if count > len(shown) else []
        return "\n".join([head, *shown, *more])

    def _said_of(self, ensemble: str) -> str:
        return f"{ensemble} is not valid"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_invalid, (type(self), self.problems, self.ensemble, self.count)


class InvalidRows(InvalidEnsemble):
    """Rows as a whole do not fit an ensemble, such as a file without a field that the ensemble reads."""

    def _said_of(self, ensemble: str) -> str:
        return f"the rows do not fit {ensemble}"


class InvalidOutputType(InvalidEnsemble):
    """The type that a caller decodes the output with does not fit what the ensemble adds and the row's own fields."""

    def _said_of(self, ensemble: str) -> str:
        return f"the caller's type does not fit the output of {ensemble}"


def _restore_invalid(
    kind: type[InvalidEnsemble], problems: tuple[Problem, ...], ensemble: str | None, count: int
) -> InvalidEnsemble:
    return kind(problems, ensemble=ensemble, count=count)


class ModelFormatError(ValueError):
    """The file is not a model of the expected format."""


class NodeError(EnsembleError):
    """A node failed on the rows that it was given.

    Args:
        code: Stable name of the kind of failure (``model_error``, ``null_value``, ``wrong_length``).
        message: One line saying what was found and what is allowed.
        stack: The traceback of the member's own code, for the error output's ``stack``; never shown otherwise.
    """

    def __init__(self, code: str, message: str, *, stack: str = "") -> None:
        self.code = code
        self.message = " ".join(message.split())
        self.stack = stack
        super().__init__(self.message)

    @classmethod
    def of(cls, error: BaseException) -> NodeError:
        """Returns what a member raised as a ``NodeError``: itself, or ``model_error`` with its text and traceback.

        Where it ran out of memory, that is the fault of all rows together.
        """
        if isinstance(error, NodeError):
            return error
        if is_out_of_memory(error) and not isinstance(error, EnsembleError):
            return TooLargeTogether(OUT_OF_MEMORY, "the rows do not fit in memory together")
        stack = "".join(traceback.format_exception(error))
        if isinstance(error, EnsembleError):
            text = " ".join(str(error).split())[:LONGEST_MESSAGE]
            return NodeError("model_error", f"{type(error).__name__}: {text}", stack=stack)
        return NodeError("model_error", described(error), stack=stack)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_node_error, (type(self), self.code, self.message, self.stack)


def _restore_node_error(kind: type[NodeError], code: str, message: str, stack: str) -> NodeError:
    return kind(code, message, stack=stack)


class BatchFailed(NodeError):
    """A node failed for a reason that lies in no row, such as a server that does not answer.

    Every row of the batch that has no answer yet fails with it at once: no halves of the batch are tried.
    """


class TooLargeTogether(NodeError):
    """Rows take too much memory together: the same call is not tried again, but halves of them are."""


class SomeFailed(NodeError):
    """A node failed on some rows and knows which: the others keep their answers, and nothing is called again.

    Args:
        columns: The node's columns of the rows that went well, in order.
        faults: The error of each other row, by its position in the batch.
    """

    def __init__(self, columns: Mapping[str, Any], faults: Mapping[int, NodeError]) -> None:
        super().__init__("model_error", f"{len(faults)} rows failed")
        self.columns = columns
        self.faults = faults

    def __reduce__(self) -> tuple[object, ...]:
        return SomeFailed, (self.columns, self.faults)


class RowFailed(NodeError):
    """A row could not be scored and the caller took no error output, so its bundle fails.

    Its text goes to the logs of workers and runners, so it leaves out what may hold the row's values, unless the
    worker's environment lets rows into logs (``logs.LOG_ROWS_VARIABLE``).

    Args:
        ensemble: Name of the ensemble.
        node: Name of the node that failed.
        code: The failure's code.
        message: The failure's message.

    Attributes:
        advice: What the caller can do.
    """

    advice: str = (
        "to get such rows separately, take the error output: with_errors() in Python, RunWithErrors in Go, "
        "withErrors() in Java, error_handling in YAML"
    )

    def __init__(self, ensemble: str, node: str, code: str, message: str) -> None:
        super().__init__(code, message)
        self.ensemble = ensemble
        self.node = node

    def __str__(self) -> str:
        return (
            f"ensemble '{self.ensemble}' could not score a row: [{self.code}] "
            f"{f'nodes.{self.node}' if self.node else 'inputs'}: {self._said()} ({self.advice})"
        )

    def _said(self) -> str:
        if self.code in _SAYS_NO_VALUES or logs.may_log_rows():
            return self.message
        named = _TYPE_OF_ERROR.match(self.message) if self.code == "model_error" else None
        rest = (
            "what it says may hold values of the row; the error output has it, and so have logs with "
            f"{logs.LOG_ROWS_VARIABLE}=1 on the workers"
        )
        return f"{named[0]}: {rest}" if named else rest

    def __reduce__(self) -> tuple[object, ...]:
        return RowFailed, (self.ensemble, self.node, self.code, self.message)


class NodeFailed(RowFailed):
    """A node failed on a row and its ``on_error`` is ``fail``, so the bundle fails."""

    def __str__(self) -> str:
        return (
            f"ensemble '{self.ensemble}' could not score a row: [{self.code}] nodes.{self.node}: {self._said()} "
            "(its 'on_error' is 'fail')"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return NodeFailed, (self.ensemble, self.node, self.code, self.message)
