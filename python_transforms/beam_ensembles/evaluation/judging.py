"""From what was kept of labelled rows to metrics, losses and curves, for each task."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.errors import EnsembleError
from beam_ensembles.evaluation import label_metrics, list_metrics, number_metrics
from beam_ensembles.evaluation.answer_values import Answers
from beam_ensembles.evaluation.collecting import Collected
from beam_ensembles.evaluation.labels import LIST, NUMBER, listed_classes, positive_class
from beam_ensembles.evaluation.results import Curves


class Judge(abc.ABC):
    """Computes what one task asks of a subject's answers.

    Attributes:
        names: The metrics with their names on tables.
        classes: The classes as texts, in the order of their numbers.
        positive: The positive class as text, or empty.
    """

    names: Mapping[str, str]
    classes: tuple[str, ...] = ()
    positive: str = ""

    @abc.abstractmethod
    def metrics(self, answers: Answers, which: np.ndarray) -> dict[str, float | None]:
        """Returns the metrics of some rows that the subject has answered (``which``, ``[N]``)."""

    @abc.abstractmethod
    def losses(self, answers: Answers, which: np.ndarray) -> dict[str, np.ndarray]:
        """Returns what each of these rows adds to the metrics that are means, less is better, by metric."""

    @abc.abstractmethod
    def difference(self, one: Answers, other: Answers, which: np.ndarray) -> float:
        """Returns how often two subjects differ, or for numbers by how much, on rows that both have answered."""

    def curves(self, answers: Answers) -> Curves:
        """Returns points for diagrams."""
        return Curves()


def judge_for(collected: Collected, positive: str | None, k: int, quantile: float) -> Judge:
    """Returns what judges the answers to labels of a kind.

    Raises:
        EnsembleError: There are no rows, one class only, or no class as the positive one that was asked for.
    """
    if not collected.rows:
        raise EnsembleError("the file has no rows")
    if collected.kind == NUMBER:
        return NumberJudge(collected.labels, quantile)
    if collected.kind == LIST:
        return ListJudge(collected.labels, k)
    return LabelJudge(collected, positive)


class NumberJudge(Judge):
    """Numbers."""

    def __init__(self, true: np.ndarray, quantile: float) -> None:
        self._true, self._quantile = true, quantile
        self.names = number_metrics.NAMES

    def metrics(self, answers: Answers, which: np.ndarray) -> dict[str, float | None]:
        """Returns the metrics of some rows."""
        return number_metrics.number_metrics(self._true[which], answers.values[which], self._quantile)

    def losses(self, answers: Answers, which: np.ndarray) -> dict[str, np.ndarray]:
        """Returns absolute errors."""
        return {"mae": np.abs(self._true[which] - answers.values[which])}

    def difference(self, one: Answers, other: Answers, which: np.ndarray) -> float:
        """Returns the mean absolute difference."""
        return float(np.abs(one.values[which] - other.values[which]).mean())


class ListJudge(Judge):
    """Ranked lists."""

    def __init__(self, true: list[Any], k: int) -> None:
        self._true, self._k = true, k
        self.names = list_metrics.names(k)

    def metrics(self, answers: Answers, which: np.ndarray) -> dict[str, float | None]:
        """Returns the metrics of some rows."""
        return list_metrics.list_metrics(*self._some(answers, which), self._k)

    def losses(self, answers: Answers, which: np.ndarray) -> dict[str, np.ndarray]:
        """Returns what reciprocal ranks and hits lack."""
        places = list_metrics.first_places(*self._some(answers, which))
        hits = (places > 0) & (places <= self._k)
        return {"mrr": 1 - list_metrics.reciprocal(places), "hit": 1.0 - hits}

    def difference(self, one: Answers, other: Answers, which: np.ndarray) -> float:
        """Returns how often the first candidates differ."""
        places = np.flatnonzero(which).tolist()
        return float(np.mean([one.values[at][:1] != other.values[at][:1] for at in places]))

    def _some(self, answers: Answers, which: np.ndarray) -> tuple[list[Any], list[Any]]:
        places = np.flatnonzero(which).tolist()
        return [self._true[at] for at in places], [answers.values[at] for at in places]


class LabelJudge(Judge):
    """Classes."""

    def __init__(self, collected: Collected, asked: str | None) -> None:
        seen = collected.codes.classes
        classes = sorted(seen)
        true = collected.labels
        have = sorted({seen[code] for code in np.unique(true).tolist()})
        if len(have) < 2:
            text = f"all {collected.rows:,} rows have the same label, {have[0] if have else 'none'}"
            raise EnsembleError(f"{text}; metrics such as ROC AUC compare rows of two classes or more")
        only_positive = any(one.answer.positive is not None for one in collected.subjects)
        if only_positive and len(classes) > 2:
            columns = [one.answer.positive for one in collected.subjects if one.answer.positive is not None]
            text = f"'{columns[0]}' is one probability, which tells two classes apart, but there are {len(classes)}"
            raise EnsembleError(f"{text}: {listed_classes(classes)}")
        if asked is not None and len(classes) > 2:
            text = f"--positive is for two classes, but there are {len(classes)}: {listed_classes(classes)}"
            raise EnsembleError(text)
        if only_positive and asked is None and isinstance(classes[0], str):
            text = (
                f"name the class whose probability the answers are with --positive: {listed_classes(classes)}"
            )
            raise EnsembleError(text)
        self.names = label_metrics.NAMES
        self._places = np.array([classes.index(one) for one in seen], np.int32)
        self._true, self._count = self._places[true], len(classes)
        self._positive: int | None = None
        if len(classes) == 2:
            positive = positive_class(classes, collected.kind, asked)
            self._positive, self.positive = classes.index(positive), _text(positive)
        self.classes = tuple(map(_text, classes))

    def metrics(self, answers: Answers, which: np.ndarray) -> dict[str, float | None]:
        """Returns the metrics of some rows."""
        return label_metrics.label_metrics(self._rows(answers, which))

    def losses(self, answers: Answers, which: np.ndarray) -> dict[str, np.ndarray]:
        """Returns errors, and surprises where there are probabilities."""
        rows = self._rows(answers, which)
        found = {"accuracy": rows.wrong()}
        return found if rows.scores is None else {"log_loss": rows.surprise(), **found}

    def difference(self, one: Answers, other: Answers, which: np.ndarray) -> float:
        """Returns how often the classes differ."""
        return float((self._rows(one, which).found != self._rows(other, which).found).mean())

    def curves(self, answers: Answers) -> Curves:
        """Returns points for diagrams."""
        rows = self._rows(answers, answers.there)
        if not len(rows.true):
            return Curves()
        return Curves(
            label_metrics.reliability(rows),
            label_metrics.roc_points(rows),
            label_metrics.precision_points(rows),
            label_metrics.confusion(rows),
        )

    def _rows(self, answers: Answers, which: np.ndarray) -> label_metrics.LabelRows:
        """Returns a subject's answers in the order of the classes."""
        found = answers.values[which]
        given = None if answers.scores is None else answers.scores[which]
        scores = given
        if given is not None and answers.classes:
            scores = np.zeros((len(given), self._count))
            scores[:, self._places[list(answers.classes)]] = given
        elif answers.is_positive and self._positive is not None:
            found = np.where(found == 1, self._positive, 1 - self._positive)
            if given is not None:
                scores = np.empty((len(given), 2))
                scores[:, self._positive], scores[:, 1 - self._positive] = given[:, 0], 1 - given[:, 0]
            return label_metrics.LabelRows(self._true[which], found, scores, self._count, self._positive)
        return label_metrics.LabelRows(
            self._true[which], self._places[found], scores, self._count, self._positive
        )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
