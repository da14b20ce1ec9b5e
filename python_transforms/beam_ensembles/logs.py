"""How logs look, and what they may say. Imports next to nothing, so that everything else may.

A record that is logged while a node is loaded or runs, by whomever, names the ensemble and the node. The rows' own
values are in no log unless the environment asks for them (``LOG_ROWS_VARIABLE``). A record is one line whatever names
it quotes; only the traceback of an error has lines of its own, indented.
"""

from __future__ import annotations

import contextlib
import contextvars
import datetime
import json
import logging
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.messages.printable import printable

LOG_ROWS_VARIABLE: Final = "BEAM_ENSEMBLES_LOG_ROWS"
"""Names the environment variable that lets messages with values of rows into logs, where it is ``1``."""
LOG_FORMAT_VARIABLE: Final = "BEAM_ENSEMBLES_LOG_FORMAT"
"""Names the environment variable that tells workers how the service writes its log: one of ``LOG_FORMATS``."""
QUIET_VARIABLE: Final = "BEAM_ENSEMBLES_QUIET"
"""Names the environment variable that, where it is ``1``, keeps what libraries log for themselves off a screen."""
LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")

ABOUT: Final[contextvars.ContextVar[Mapping[str, str]]] = contextvars.ContextVar("about", default={})  # noqa: B039
"""What this thread logs about, as ``subject`` gives it. ``about`` sets it; so may who counts microseconds."""
_FIELDS: Final = "beam_ensembles_fields"


def may_log_rows() -> bool:
    """Returns whether messages that may hold values of rows may go to logs."""
    return os.environ.get(LOG_ROWS_VARIABLE) == "1"


def is_quiet() -> bool:
    """Whether what libraries log for themselves is kept away: in notebooks, and where a verb says so."""
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0":  # somebody asks for it
        return False
    return os.environ.get(QUIET_VARIABLE) == "1" or "ipykernel" in sys.modules


def subject(ensemble: str, node: str | None = None) -> Mapping[str, str]:
    """Returns the fields that name an ensemble, and a node where it is about one."""
    return {"ensemble": ensemble} if node is None else {"ensemble": ensemble, "node": node}


@contextlib.contextmanager
def about(ensemble: str, node: str | None = None) -> Iterator[None]:
    """Adds an ensemble and a node to all that this thread logs within the block.

    Args:
        ensemble: Name of the ensemble.
        node: Name of the node, where it is about one.
    """
    token = ABOUT.set(subject(ensemble, node))
    try:
        yield
    finally:
        ABOUT.reset(token)


def with_fields(**fields: Any) -> dict[str, Any]:
    """Returns what a call of a logger takes as ``extra`` for the record to have these fields.

    Args:
        fields: Plain values; None leaves a field out.
    """
    return {_FIELDS: {name: value for name, value in fields.items() if value is not None}}


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Returns the fields of a record that is logged in this thread."""
    return {**ABOUT.get(), **getattr(record, _FIELDS, {})}


def prefix_of(record: logging.LogRecord) -> str:
    """Returns the fields of a record as ``name=value`` in front of its text, for logs that know no fields."""
    return "".join(f"{name}={_word(value)} " for name, value in fields_of(record).items())


class MessageFormatter(logging.Formatter):
    """Fields and text on a line, and an indented traceback below: what Beam's own logging sends to a runner."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Puts the fields in front of the text."""
        record.message = prefix_of(record) + record.message
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Indents the traceback: a line of an error's text must not look like a record of its own."""
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        """Indents the stack likewise."""
        return _indented(super().formatStack(stack_info))


class TextFormatter(MessageFormatter):
    """Time, level, logger, fields and text on a line.

    Args:
        worker: The worker's id, where one logs.
    """

    def __init__(self, worker: str = "") -> None:
        self._worker = f"worker {_word(worker)} " if worker else ""
        super().__init__("%(asctime)s %(levelname)s %(beam_ensembles_worker)s%(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Puts the worker and the fields in front of the text."""
        record.beam_ensembles_worker = self._worker
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``time``, ``level``, ``logger``, ``message``, the fields, and ``exception``.

    Args:
        worker: The worker's id, where one logs.
    """

    def __init__(self, worker: str = "") -> None:
        super().__init__()
        self._worker = {"worker": worker} if worker else {}

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line."""
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": at.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **self._worker,
            **fields_of(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return printable(json.dumps(line, ensure_ascii=False, default=str))


def formatter(log_format: str, worker: str = "") -> logging.Formatter:
    """Returns the formatter of a log.

    Args:
        log_format: One of ``LOG_FORMATS``.
        worker: The worker's id, where one logs.
    """
    return JsonFormatter(worker) if log_format == "json" else TextFormatter(worker)


def to_stderr(level: int, log_format: str | None = None) -> None:
    """Sends this process's log, and Python's warnings, to standard error.

    Args:
        level: As ``logging`` counts it.
        log_format: One of ``LOG_FORMATS``; None: that of the process that started this one.
    """
    handler = logging.StreamHandler()
    known = log_format or os.environ.get(LOG_FORMAT_VARIABLE, "text")
    handler.setFormatter(formatter(known, os.environ.get("WORKER_ID", "")))
    logging.basicConfig(level=level, handlers=[handler])
    logging.captureWarnings(True)


def _indented(text: str) -> str:
    return textwrap.indent("\n".join(map(printable, text.splitlines())), "  ")


def _word(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return printable(json.dumps(text, ensure_ascii=False) if not text or set(text) & set(' "=\n\t') else text)
