"""Scores a file of rows: reads chunks, runs the one stage on each, writes both outputs."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import time
from collections.abc import Mapping, Sequence
from typing import Any

from beam_ensembles.cli.run_progress import Show
from beam_ensembles.cli.run_summary import Summary
from beam_ensembles.cli.terminable import uninterrupted
from beam_ensembles.cli.write_errors import naming
from beam_ensembles.errors import NodeError
from beam_ensembles.execution.growing_stage import Stage, WatchedStage, load_stage
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.local.row_files import chunks_of, open_rows
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.loading import graph_of_file, with_own_folder
from beam_ensembles.runtime.row_source import score
from beam_ensembles.tables.chunk import Chunk, Reader
from beam_ensembles.tables.formats import Columns, open_writer
from beam_ensembles.tables.json_text import to_json
from beam_ensembles.tables.whole_file import OptionalFile, settle, whole_file


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call:
    """What to score.

    Attributes:
        file: The ensemble file.
        input: The file of rows.
        output: Where scored rows go.
        errors: Where failed rows go.
        parameters: Values of ``${name}`` in the ensemble file.
        trust: Folders whose pickles may be loaded unpinned, beside the ensemble file's own.
        prefix: Put before the name of every added column.
        batch_size: Rows at once, at most.
    """

    file: str
    input: str
    output: str
    errors: str
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    trust: Sequence[str] = ()
    prefix: str = ""
    batch_size: int


def score_file(call: Call, show: Show) -> Summary:
    """Scores a file of rows.

    Args:
        call: What to score.
        show: Shows how far it is.

    Returns:
        What became of it.

    Raises:
        InvalidEnsemble: The ensemble file is wrong, or (``InvalidRows``) the file of rows as a whole.
        EnsembleError: A model cannot be loaded, or the file of rows breaks off.
        OSError: A file cannot be read or written.
    """
    start = time.monotonic()
    show("checking the ensemble")
    graph = graph_of_file(call.file, parameters=call.parameters, trust=with_own_folder(call.file, call.trust))
    show("reading the fields")
    columns = columns_of(graph, call.prefix)
    reader = opened(call, graph, columns)
    show("loading the models")
    code = stage_of(graph, columns)
    scoring = _Scoring(
        code, load_stage(code, this_machine()), Summary(code.ensemble, call.input, call.output, call.errors)
    )
    scoring.summary.loading_seconds = time.monotonic() - start
    _score_rows(call, reader, columns, scoring, call.batch_size, show)
    if isinstance(scoring.stage, WatchedStage):
        scoring.summary.drifts = scoring.stage.watch.finish()
    scoring.summary.seconds = time.monotonic() - start - scoring.summary.loading_seconds
    return scoring.summary


def opened(call: Call, graph: EnsembleGraph, columns: Columns) -> Reader:
    """Opens the file of rows of a call.

    Raises:
        InvalidRows: There is something wrong with the file as a whole.
        OSError: It cannot be read.
    """
    return open_rows(call.input, graph, columns, output=call.output, prefix=call.prefix)


def _score_rows(
    call: Call, reader: Reader, columns: Columns, scoring: _Scoring, size: int, show: Show
) -> None:
    with (
        contextlib.ExitStack() as at_the_end,
        naming(call.errors),
        OptionalFile(call.errors) as errors,
        naming(call.output),
        whole_file(call.output) as output,
    ):
        with contextlib.closing(open_writer(call.output, output, reader, columns)) as writer:
            show("scoring", total=reader.total)
            for chunk in chunks_of(reader, call.input, size):
                at, answers, failures = scoring.score(chunk)
                writer.write(chunk, at, answers)
                with naming(call.errors):
                    errors.write("".join(f"{to_json(failure)}\n" for failure in failures).encode())
                rows = scoring.summary.scored + scoring.summary.failed
                show("scoring", done=reader.done, total=reader.total, rows=rows)
        # The disk may be full: both files are on it before the first one takes its name.
        settle(output)
        with naming(call.errors):
            errors.settle()
        at_the_end.enter_context(uninterrupted())


@dataclasses.dataclass(frozen=True, slots=True)
class _Scoring:
    """Scores chunks and counts.

    Attributes:
        code: What the stage does.
        stage: Its loaded models.
        summary: The counts, which this updates.
    """

    code: StageCode
    stage: Stage
    summary: Summary

    def score(self, chunk: Chunk) -> tuple[list[int], tuple[list[Any], ...], list[dict[str, Any]]]:
        """Returns which rows of a chunk were scored, their answers by column, and what to write of the others."""
        scored = score(self.code, self.stage, chunk)
        failed = [
            (chunk.numbers[row.index], chunk[row.index], row.node, row.error) for row in scored.failures
        ]
        failed += [(fault.number, fault.element, "", fault.error) for fault in chunk.faults]
        self.summary.scored += len(scored.rows)
        self.summary.failures.update((node, error.code) for _, _, node, error in failed)
        records = [self._record(*failure) for failure in sorted(failed, key=operator.itemgetter(0))]
        return scored.rows.tolist(), scored.added, records

    def _record(self, number: int, element: Any, node: str, error: NodeError) -> dict[str, Any]:
        details = (self.code.ensemble, node, error.code, error.message, error.stack)
        return {"row": number, **self.code.form.failed(element, details)}
