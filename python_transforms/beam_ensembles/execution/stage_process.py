"""``python -m beam_ensembles.execution.stage_process PIPE``: one of the processes in which a stage runs.

The stage comes over the pipe from the worker, then one batch after another. Metrics and logs are the worker's to write:
they go back with each answer.
"""

from __future__ import annotations

import logging
import signal
import sys
from typing import TYPE_CHECKING

from beam_ensembles import logs
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution.stage_answers import Answer, Scored
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.processes import child_process

if TYPE_CHECKING:
    from beam_ensembles.columns.batch import ColumnBatch
    from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
    from beam_ensembles.execution.node_metrics import Update
    from beam_ensembles.processes.column_pipe import ColumnPipe


class _Records(logging.Handler):
    """Keeps what is logged in this process, as records that can be sent.

    Args:
        level: The least level that is kept, as ``logging`` counts it.
    """

    def __init__(self, level: int) -> None:
        super().__init__()
        self._kept: list[logging.LogRecord] = []
        root = logging.getLogger()
        root.setLevel(level)
        root.addHandler(self)
        logging.captureWarnings(True)

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps a record with its text, and with the fields that this thread gives it."""
        same = ("name", "levelno", "levelname", "created", "pathname", "lineno", "funcName")
        kept = {name: getattr(record, name) for name in same}
        fields = logs.with_fields(**logs.fields_of(record))
        self._kept.append(logging.makeLogRecord({**kept, "msg": self.format(record), **fields}))

    def take(self) -> list[logging.LogRecord]:
        """Returns what was kept since the last time."""
        taken, self._kept = self._kept, []
        return taken


def main() -> None:
    """Loads the stage that comes first, then scores one batch after another until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts the worker closes the pipe
    with child_process.pipe_of(sys.argv[1]) as pipe:
        child_process.end_with(pipe)
        try:
            _serve(pipe, _Records(pipe.recv()))
        except EOFError:
            return


def _serve(pipe: ColumnPipe, records: _Records) -> None:
    logging.disable()  # what Beam says while it is imported the worker has said already
    from beam_ensembles.beam_repairs import inference_imports
    from beam_ensembles.execution.loaded_stage import LoadedStage
    from beam_ensembles.processes.machine import Machine

    inference_imports.import_base()
    code = pipe.recv()
    logging.disable(logging.NOTSET)
    updates: list[Update] = []
    try:
        stage = LoadedStage(code, Machine(), updates.append)
    except Exception as error:
        pipe.send(Answer(_said(code, error), [], records.take()))
        return
    pipe.send(Answer(None, [], records.take()))
    while True:
        found = _scored(stage, code, pipe.recv())
        pipe.send(Answer(found, updates, records.take()))
        updates.clear()


def _scored(stage: LoadedStage, code: StageCode, batch: ColumnBatch) -> Scored | EnsembleError:
    came = frozenset(batch.columns)
    batch.add(batch.columns)  # nodes may not write to them here either
    try:
        stage.run(batch)
    except Exception as error:
        return _said(code, error)
    batch.keep(code.kept)
    made = {name: values for name, values in batch.columns.items() if name not in came}
    return Scored(batch.rows, made, batch.failures, batch.meanings)


def _said(code: StageCode, error: Exception) -> EnsembleError:
    """Returns an error that the worker can raise: our own as it is, of others what they say."""
    if isinstance(error, EnsembleError):
        return error
    text = f"ensemble '{code.ensemble}': {described(error)}"
    logging.getLogger(__name__).error(text, exc_info=error)
    return EnsembleError(text)


if __name__ == "__main__":
    main()
