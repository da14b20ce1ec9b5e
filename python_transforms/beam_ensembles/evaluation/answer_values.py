"""A subject's answers as they are kept: one compact array per column, with a place for each row."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import EnsembleError
from beam_ensembles.evaluation.labels import LIST, NUMBER, ClassCodes
from beam_ensembles.evaluation.subjects import ENSEMBLE, Subject

NOT_ANSWERED: Final = -1
"""The number of no class: the subject has no answer for the row."""
_APART: Final = 1e-3
"""By how much probabilities may miss 1, and 0, for single precision and rounding in files."""


@dataclasses.dataclass(slots=True)
class Answers:
    """A subject's answers for all rows.

    Attributes:
        there: Which rows it has answered, ``[N]``.
        values: Numbers of classes, numbers, or ranked lists.
        scores: Probabilities, a column per class of ``classes``; None where it has none.
        classes: The numbers of these classes.
        is_positive: Whether ``values`` only say 1 for the positive class, and ``scores`` only its probability.
        note: Why there are no probabilities although there are scores, or empty.
    """

    there: np.ndarray
    values: Any
    scores: np.ndarray | None = None
    classes: tuple[int, ...] = ()
    is_positive: bool = False
    note: str = ""


class Part(abc.ABC):
    """The answers for the rows of one chunk."""

    @abc.abstractmethod
    def put(self, rows: np.ndarray, values: Mapping[str, np.ndarray], numbers: Sequence[int]) -> None:
        """Notes some rows' answers."""


class Kept(abc.ABC):
    """The answers of a subject, chunk by chunk.

    Attributes:
        bytes: How much memory they take, about.
    """

    bytes: int = 0

    @abc.abstractmethod
    def part(self, rows: int) -> Any:
        """Returns what takes the answers for some rows."""

    @abc.abstractmethod
    def close(self, part: Any) -> None:
        """Adds a part."""

    @abc.abstractmethod
    def whole(self) -> Answers:
        """Returns all."""


def kept_for(kind: str, subject: Subject, codes: ClassCodes) -> Kept:
    """Returns what keeps a subject's answers to labels of a kind."""
    if kind == LIST:
        return KeptLists(subject)
    return KeptNumbers(subject) if kind == NUMBER else KeptLabels(subject, codes)


class KeptNumbers(Kept):
    """Numbers."""

    def __init__(self, subject: Subject) -> None:
        self._column = subject.answer.label or ""
        self._done: list[np.ndarray] = []
        self._there: list[np.ndarray] = []

    def part(self, rows: int) -> _NumberPart:
        """Returns what takes the answers for some rows."""
        return _NumberPart(self._column, np.full(rows, np.nan), np.zeros(rows, np.bool_))

    def close(self, part: _NumberPart) -> None:
        """Adds a part."""
        self._done.append(part.found)
        self._there.append(part.there & np.isfinite(part.found))
        self.bytes += part.found.nbytes

    def whole(self) -> Answers:
        """Returns all."""
        return Answers(np.concatenate(self._there), np.concatenate(self._done))


@dataclasses.dataclass(slots=True)
class _NumberPart(Part):
    column: str
    found: np.ndarray
    there: np.ndarray

    def put(self, rows: np.ndarray, values: Mapping[str, np.ndarray], numbers: Sequence[int]) -> None:
        self.found[rows], self.there[rows] = values[self.column], True


class KeptLists(Kept):
    """Ranked lists, the best first."""

    def __init__(self, subject: Subject) -> None:
        self._answer = subject.answer
        self._done: list[Any] = []

    def part(self, rows: int) -> _ListPart:
        """Returns what takes the answers for some rows."""
        return _ListPart(self._answer.label or "", self._answer.field, [None] * rows)

    def close(self, part: _ListPart) -> None:
        """Adds a part."""
        self._done += part.found
        self.bytes += sum(8 * len(one) for one in part.found if one is not None)

    def whole(self) -> Answers:
        """Returns all."""
        there = np.array([one is not None for one in self._done], np.bool_)
        return Answers(there, self._done)


@dataclasses.dataclass(slots=True)
class _ListPart(Part):
    column: str
    field: str
    found: list[list[Any] | None]

    def put(self, rows: np.ndarray, values: Mapping[str, np.ndarray], numbers: Sequence[int]) -> None:
        for row, items in zip(rows.tolist(), values[self.column].tolist(), strict=True):
            self.found[row] = [one[self.field] for one in items] if self.field else list(items)


class KeptLabels(Kept):
    """Classes, with probabilities where there are some."""

    def __init__(self, subject: Subject, codes: ClassCodes) -> None:
        self._subject, self._codes = subject, codes
        self._values: list[np.ndarray] = []
        self._scores: list[np.ndarray] = []
        self._note = ""
        answer = subject.answer
        self._classes = tuple(codes.code(one) for one in answer.classes)
        self._places = np.array([codes.code(one) for one in answer.places], np.int32)

    def part(self, rows: int) -> _LabelPart:
        """Returns what takes the answers for some rows."""
        return _LabelPart(self, np.full(rows, NOT_ANSWERED, np.int32), None, rows)

    def close(self, part: _LabelPart) -> None:
        """Adds a part."""
        self._values.append(part.found)
        self.bytes += part.found.nbytes
        if self.has_scores and not self._note:
            self._scores.append(part.whole_scores())
            self.bytes += self._scores[-1].nbytes

    @property
    def has_scores(self) -> bool:
        """Whether the subject gives scores."""
        return self._subject.answer.scores is not None or self._subject.answer.positive is not None

    @property
    def width(self) -> int:
        """How many scores a row has; 1 is that of the positive class."""
        return len(self._classes) or 1

    def taken(
        self, values: Mapping[str, np.ndarray], rows: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns the numbers of the classes that were answered, and the probabilities.

        Args:
            values: The subject's columns of some rows.
            rows: The numbers of these rows.
        """
        answer = self._subject.answer
        scores: np.ndarray | None = None
        if answer.scores is not None:
            scores = values[answer.scores].astype(np.float64, copy=False)
        elif answer.positive is not None:
            scores = values[answer.positive].astype(np.float64, copy=False)[:, None]
        if scores is not None:
            self._check(scores, rows)
        if answer.label is None:
            found = self._likeliest(scores) if scores is not None else np.zeros(0, np.int32)
        elif len(self._places):
            found = self._places[values[answer.label]]
        else:
            found = self._codes.codes(values[answer.label].tolist())
        return found, scores

    def _likeliest(self, scores: np.ndarray) -> np.ndarray:
        if self._subject.answer.scores is None:
            return (scores[:, 0] >= 0.5).astype(
                np.int32
            )  # 1 is the positive class until all classes are known
        return np.asarray(np.array(self._classes, np.int32)[np.argmax(scores, axis=1)])

    def _check(self, scores: np.ndarray, rows: Sequence[int]) -> None:
        """Looks whether scores are probabilities.

        Raises:
            EnsembleError: They are not, and the ensemble itself answers them.
        """
        whole = np.abs(scores.sum(axis=1) - 1) <= _APART if scores.shape[1] > 1 else np.True_
        fine = whole & (scores >= -_APART).all(axis=1) & (scores <= 1 + _APART).all(axis=1)
        if fine.all() or self._note:
            return
        at = int(np.argmin(fine))
        answer, row = self._subject.answer, rows[at]
        column = answer.scores or answer.positive
        if scores.shape[1] > 1:
            said = f"row {row:,}: the probabilities '{column}' add up to {scores[at].sum():.6g}, not to 1"
        else:
            said = f"row {row:,}: '{column}' is {scores[at, 0]:.6g}, not a probability from 0 to 1"
        if self._subject.role == ENSEMBLE:
            todo = "apply softmax to scores that are none, or name another output with --answer"
            raise EnsembleError(f"{said}; {todo}")
        self._note = said
        self._scores.clear()

    def whole(self) -> Answers:
        """Returns all."""
        values = np.concatenate(self._values) if self._values else np.zeros(0, np.int32)
        scores = np.concatenate(self._scores) if self._scores and not self._note else None
        is_positive = self._subject.answer.positive is not None
        return Answers(values != NOT_ANSWERED, values, scores, self._classes, is_positive, self._note)


@dataclasses.dataclass(slots=True)
class _LabelPart(Part):
    kept: KeptLabels
    found: np.ndarray
    scores: np.ndarray | None
    rows: int

    def put(self, rows: np.ndarray, values: Mapping[str, np.ndarray], numbers: Sequence[int]) -> None:
        found, scores = self.kept.taken(values, [numbers[at] for at in rows.tolist()])
        self.found[rows] = found
        if scores is not None:
            if self.scores is None:
                self.scores = np.full((self.rows, self.kept.width), np.nan)
            self.scores[rows] = scores

    def whole_scores(self) -> np.ndarray:
        """Returns the scores of all rows of the chunk, NaN where there are none."""
        return self.scores if self.scores is not None else np.full((self.rows, self.kept.width), np.nan)
