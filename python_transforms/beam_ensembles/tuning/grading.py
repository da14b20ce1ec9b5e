"""How often replayed answers are right, by what a target counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.columns.expressions import Condition
from beam_ensembles.errors import EnsembleError, nearest
from beam_ensembles.evaluation.answer_values import NOT_ANSWERED, Answers, kept_for
from beam_ensembles.evaluation.collecting import Collected
from beam_ensembles.evaluation.judging import judge_for
from beam_ensembles.evaluation.labels import LIST, NUMBER, listed_classes, positive_class
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.expressions.checks import check_condition
from beam_ensembles.graph.kinds import valid_rows
from beam_ensembles.tuning.recording import Recording
from beam_ensembles.tuning.replaying import Replayed
from beam_ensembles.tuning.targets import ACCURACY, AGREEMENT, PRECISION, RECALL, Target


@dataclasses.dataclass(frozen=True, slots=True)
class Graded:
    """What the recorded rows are answered.

    Attributes:
        found: The number of the class of each, ``[N]``; -1 where there is no answer.
        flagged: Which are answered with the positive class, ``[N]``.
        ran: On which of them each node ran, ``[N]``.
    """

    found: np.ndarray
    flagged: np.ndarray
    ran: Mapping[str, np.ndarray]


class Grader:
    """Compares answers with the labels of the recorded rows.

    Args:
        graph: The ensemble.
        collected: The labels, and the answers of the members.
        recording: The recorded rows.
        positive: The positive class as text, or None.
        flags: The condition on outputs under which a row counts as answered positive; None: its class says that.
        needs_positive: Whether a target needs a positive class.

    Raises:
        EnsembleError: The label is not a class, has one value only, or there is no positive class.
    """

    def __init__(
        self,
        graph: EnsembleGraph,
        collected: Collected,
        recording: Recording,
        *,
        positive: str | None,
        flags: str | None,
        needs_positive: bool,
    ) -> None:
        if collected.kind in (NUMBER, LIST):
            raise EnsembleError(
                "cut-offs are tuned where the label is a class: a text, a boolean, a whole number"
            )
        classes = collected.codes.classes
        judge_for(collected, positive if len(classes) == 2 else None, 1, 0.5)
        self._positive: int | None = None
        if needs_positive or len(classes) == 2:
            if len(classes) > 2 and positive is None:
                text = f"recall and precision are of one class; name it with --positive: {listed_classes(classes)}"
                raise EnsembleError(text)
            self._positive = classes.index(positive_class(classes, collected.kind, positive))
        self.positive = "" if self._positive is None else str(classes[self._positive])
        self.count = len(recording.rows)
        self._true = np.asarray(collected.labels)[recording.rows]
        self._collected, self._rows = collected, recording.rows
        self._flags = None if flags is None else (flags, _condition(flags, graph))
        subject = collected.subjects[0]
        answer = (
            subject.answer
            if subject.answer.label is None
            else dataclasses.replace(subject.answer, scores=None)
        )
        self._subject = dataclasses.replace(subject, answer=answer)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the ensemble's answer."""
        return self._subject.answer.columns

    def grade(self, replayed: Replayed) -> Graded:
        """Returns what the rows were answered."""
        kept = kept_for(self._collected.kind, self._subject, self._collected.codes)
        part, columns = kept.part(self.count), replayed.columns
        flagged = np.zeros(self.count, np.bool_)
        if len(replayed.places):
            there = np.ones(len(replayed.places), np.bool_)
            for name in self.columns:
                there &= valid_rows(columns, name)
            values = {name: columns[name][there] for name in self.columns}
            part.put(replayed.places[there], values, self._rows + 1)
        kept.close(part)
        found = self._classes(kept.whole())
        if self._flags is not None and len(replayed.places):
            flagged[replayed.places] = self._flags[1](columns)
        elif self._positive is not None:
            flagged = found == self._positive
        return Graded(found, flagged, replayed.ran)

    def member(self, name: str) -> np.ndarray:
        """Returns the classes that a node has answered; -1 where it has not.

        Raises:
            EnsembleError: There is no such node, or its answer is not a class.
        """
        names = [one.name for one in self._collected.subjects]
        if name not in names[1:]:
            raise EnsembleError(
                f"no node '{name}' answers with a class to agree with{nearest(name, names[1:])}"
            )
        found = self._classes(self._collected.answers(names.index(name, 1)))
        return np.asarray(found[self._rows])

    def counts(
        self, target: Target, graded: Graded, which: np.ndarray, members: Mapping[str, np.ndarray]
    ) -> tuple[int, int]:
        """Returns how many of some rows are right, and how many count."""
        right, base = self._judged(target, graded, members)
        return int(np.count_nonzero(right[which] & base[which])), int(np.count_nonzero(base[which]))

    def _judged(
        self, target: Target, graded: Graded, members: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        true = np.ones(self.count, np.bool_)
        if target.measure == ACCURACY:
            return graded.found == self._true, true
        if target.measure == AGREEMENT:
            member = members[target.member]
            return graded.found == member, member != NOT_ANSWERED
        is_positive = self._true == self._positive
        if target.measure == RECALL:
            return graded.flagged, is_positive
        assert target.measure == PRECISION  # noqa: S101
        return is_positive, graded.flagged

    def _classes(self, answers: Answers) -> np.ndarray:
        values: np.ndarray[Any, Any] = np.asarray(answers.values)
        if not answers.is_positive or self._positive is None:
            return values
        other = 1 - self._positive
        return np.where(values == 1, self._positive, np.where(values == 0, other, NOT_ANSWERED))


def _condition(text: str, graph: EnsembleGraph) -> Condition:
    types = dict(graph.outputs)
    said: list[str] = []
    check_condition(text, types, lambda _, message: said.append(message))
    if said:
        raise EnsembleError(f"--positive-if '{text}': {said[0]}; it reads the outputs of the ensemble")
    return Condition(text, types)
