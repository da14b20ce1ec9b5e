"""Log lines that name their node to the runner. Written for Beam 2.77 (``log_handler``).

Beam's handler sends the text of a record and no fields, so ensemble and node stand in front of the text.
"""

from __future__ import annotations

import logging
from typing import Any

from apache_beam.runners.worker.log_handler import FnApiLogRecordHandler

from beam_ensembles import logs


def install() -> None:
    """Make the handler write as ``logs`` does."""
    handler: Any = FnApiLogRecordHandler
    if "format" in vars(handler):
        return

    formatter = logs.MessageFormatter()

    def with_prefix(self: Any, record: logging.LogRecord) -> str:
        return formatter.format(record)

    handler.format = with_prefix
