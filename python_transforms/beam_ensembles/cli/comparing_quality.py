"""Compares how good two versions are on rows whose answer is known, from answers that are at hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

import numpy as np

from beam_ensembles.cli.version_sides import Running, Side
from beam_ensembles.errors import EnsembleError
from beam_ensembles.evaluation.answer_values import Kept, kept_for
from beam_ensembles.evaluation.evaluating import prepared
from beam_ensembles.evaluation.judging import judge_for
from beam_ensembles.evaluation.request import Request
from beam_ensembles.evaluation.scikit_learn import metric_functions
from beam_ensembles.evaluation.subjects import PROBABILITIES, Answer, Subject
from beam_ensembles.locks.answers import Answers
from beam_ensembles.tables.chunk import Chunk

_BY_ROW: Final = ("accuracy", "mae", "mrr")
"""The losses of rows by which one answer is better than another."""


@dataclasses.dataclass(frozen=True, slots=True)
class QualityChange:
    """How the quality changed, on the rows that both versions have answered.

    Attributes:
        metrics: The old and the new value of each metric.
        better: Rows on which the new version is nearer to the label.
        worse: Rows on which the old one is.
    """

    metrics: Mapping[str, tuple[float | None, float | None]]
    better: int
    worse: int


class QualityComparison:
    """Judges the answers of two versions by the same labels.

    Args:
        old: The old version.
        new: The new one.
        first: The first rows, which settle what the labels are.
        request: The label, and which answer to compare with it.

    Raises:
        EnsembleError: Both are locks, or no output can be compared with the label.
    """

    def __init__(self, old: Side, new: Side, first: Chunk, request: Request) -> None:
        metric_functions()
        runs = [side for side in (new, old) if isinstance(side, Running)]
        if not runs:
            raise EnsembleError(
                "--label needs a version that runs; give the ensemble file of one of the locks"
            )
        ensembles = [side.ensemble for side in runs]
        collected = [prepared(request, one.graph, one.code, one.stage, first) for one in ensembles]
        self._labels, self._request = collected[0], request
        subjects = [_without_computed(one.subjects[0]) for one in collected]
        of_old, of_new = subjects[-1], subjects[0]
        for side, subject in ((old, of_old), (new, of_new)):
            lacking = [name for name in subject.answer.columns if name not in side.version.makers]
            if lacking:
                raise EnsembleError(f"'{side.name}' has no '{lacking[0]}', which is compared with the label")
        kind, codes = self._labels.kind, self._labels.codes
        self._sides = [(one, kept_for(kind, one, codes)) for one in (of_old, of_new)]

    def add(self, chunk: Chunk, old: Answers, new: Answers) -> None:
        """Keeps the labels and answers of some rows.

        Raises:
            EnsembleError: A label is null, of another kind or of a class that the ensemble does not know.
        """
        self._labels.add_labels(chunk)
        for (subject, kept), answers in zip(self._sides, (old, new), strict=True):
            _keep(kept, subject.answer, chunk, answers)

    def found(self) -> QualityChange:
        """Returns how the quality changed.

        Raises:
            EnsembleError: All labels are the same, or there is no such positive class.
        """
        request = self._request
        judge = judge_for(self._labels, request.positive, request.k, request.quantile)
        old, new = (kept.whole() for _, kept in self._sides)
        both = old.there & new.there
        if not both.any():
            raise EnsembleError(
                "no row has an answer of both versions, so that their quality cannot be compared"
            )
        before, after = judge.metrics(old, both), judge.metrics(new, both)
        metrics = {
            name: (before[name], after[name])
            for name in judge.names
            if before.get(name) is not None or after.get(name) is not None
        }
        one, other = judge.losses(old, both), judge.losses(new, both)
        name = next(name for name in _BY_ROW if name in one)
        return QualityChange(
            metrics, int((other[name] < one[name]).sum()), int((other[name] > one[name]).sum())
        )


def _without_computed(subject: Subject) -> Subject:
    """Returns a subject without probabilities that no node adds."""
    answer = subject.answer
    if answer.scores is None or not answer.scores.startswith(PROBABILITIES):
        return subject
    return dataclasses.replace(subject, answer=dataclasses.replace(answer, scores=None, classes=()))


def _keep(kept: Kept, answer: Answer, chunk: Chunk, answers: Answers) -> None:
    part, failed = kept.part(len(chunk)), answers.failed(len(chunk))
    columns = [answers.columns[name] for name in answer.columns]
    there = np.logical_and.reduce([one.valid & one.there for one in columns]) & ~failed
    rows = np.flatnonzero(there)
    if len(rows):
        values = {name: answers.columns[name].values[rows] for name in answer.columns}
        part.put(rows, values, chunk.numbers)
    kept.close(part)
