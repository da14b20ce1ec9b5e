"""The labelled rows of a tuning: read in parts, scored once, split into those to choose on and those held out."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping

import numpy as np

from beam_ensembles.errors import EnsembleError, nearest
from beam_ensembles.evaluation.answer_cache import AnswerCache
from beam_ensembles.evaluation.collecting import Collected
from beam_ensembles.evaluation.evaluating import prepared
from beam_ensembles.evaluation.request import Progress, Request
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.node_records import NodeRecorder
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.local.row_files import NOT_ADDED, chunks_of, open_rows
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.tables.formats import Columns as TableColumns

LEAST_ROWS = 20
"""Fewer rows than that in a part say nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rows:
    """Which rows to tune on.

    Attributes:
        input: The file of labelled rows.
        label: The field of the known answers.
        answer: The output that is the ensemble's answer; None takes the first that can be.
        positive: The positive class as text; None: the greater of two.
        holdout: The share of the rows that is held out.
        folds: In how many parts to hold out all rows in turn instead, or None.
        seed: Of the split.
        batch_size: Rows at once, at most.
        cache: The folder in which answers of models are kept, or None.
    """

    input: str
    label: str
    answer: str | None = None
    positive: str | None = None
    holdout: float = 0.3
    folds: int | None = None
    seed: int = 0
    batch_size: int = 1_024
    cache: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Scored:
    """The rows, scored.

    Attributes:
        stage: The stage that has scored them.
        collected: Their labels and the answers of all subjects.
    """

    stage: LoadedStage
    collected: Collected

    @property
    def milliseconds(self) -> dict[str, float]:
        """How long each node took per row that it was asked."""
        return {
            one.name: one.nanoseconds / 1e6 / one.asked if one.asked else 0.0
            for one in self.collected.costs.values()
        }


def score_rows(
    rows: Rows,
    graph: EnsembleGraph,
    show: Progress,
    keep: Callable[[NodeRecorder, int], None],
    change: Callable[[StageCode], StageCode] = lambda code: code,
) -> Scored:
    """Scores the rows of a file.

    Args:
        rows: Which.
        graph: The ensemble.
        show: Is told how far it is.
        keep: Takes what the nodes did with each part, and how many rows that has with a label.
        change: Returns the stage to score with.

    Raises:
        InvalidRows: The file of rows as a whole is not valid.
        EnsembleError: There is no such label, labels and answers do not go together, or a model cannot be loaded.
        OSError: A file cannot be read.
    """
    reader = open_rows(rows.input, graph, TableColumns(dict(graph.columns_read), ()), prefix=NOT_ADDED)
    chunks = chunks_of(reader, rows.input, rows.batch_size)
    first = next(chunks, None)
    if first is None:
        raise EnsembleError(f"'{rows.input}' has no rows")
    if rows.label not in reader.fields:
        raise EnsembleError(f"'{rows.input}' has no field '{rows.label}'{nearest(rows.label, reader.fields)}")
    show("loading the models", None, 0)
    code = change(stage_of(graph, columns_of(graph)))
    cache = None if rows.cache is None else AnswerCache(rows.cache)
    stage = LoadedStage(code, this_machine(), load=load_member if cache is None else cache.load)
    request = Request(file="", input=rows.input, label=rows.label, answer=rows.answer)
    collected = prepared(request, graph, code, stage, first, leaves_out=False)
    for chunk in itertools.chain([first], chunks):
        keep(collected.add(chunk, stage), len(chunk))
        show("scoring", reader, collected.rows)
    if cache is not None:
        cache.add_spared(collected.costs)
    show("tuning", reader, collected.rows)
    return Scored(stage, collected)


def split(count: int, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Returns which rows to choose on, and which are held out, both in order.

    Raises:
        EnsembleError: One of the parts has too few rows.
    """
    order = np.random.default_rng(rows.seed).permutation(count)
    held = round(count * rows.holdout)
    if min(held, count - held) < LEAST_ROWS:
        text = (
            f"{count:,} rows are too few: {count - held:,} to tune on and {held:,} held out; each part needs"
        )
        raise EnsembleError(f"{text} {LEAST_ROWS} at least")
    return np.sort(order[held:]), np.sort(order[:held])


def folded(count: int, rows: Rows) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns which rows to choose on and which are held out, both in order: one such split, or one for each fold.

    Raises:
        EnsembleError: One of the parts has too few rows.
    """
    if rows.folds is None:
        return [split(count, rows)]
    if count < rows.folds * LEAST_ROWS:
        text = (
            f"{count:,} rows are too few for {rows.folds:,} folds, each of which needs {LEAST_ROWS} at least"
        )
        most = count // LEAST_ROWS
        raise EnsembleError(f"{text}; {f'ask for {most:,} at most' if most > 1 else 'give more rows'}")
    order = np.random.default_rng(rows.seed).permutation(count)
    parts = np.array_split(order, rows.folds)
    return [
        (np.sort(np.concatenate(parts[:at] + parts[at + 1 :])), np.sort(part))
        for at, part in enumerate(parts)
    ]


def parameters_of(graph: EnsembleGraph, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the values of all parameters of a file."""
    return {**graph.spec.defaults, **given}
