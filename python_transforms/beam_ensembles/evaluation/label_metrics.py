"""Metrics of answers that are classes, with scikit-learn's functions; numbers of classes stand for the classes."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Final

import numpy as np

from beam_ensembles.evaluation.scikit_learn import metric_functions

BINS: Final = 10
"""Bins of equal width of the expected calibration error and of the reliability diagram."""
_MOST_POINTS: Final = 200
_LEAST: Final = float(np.finfo(np.float64).eps)

NAMES: Final = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "f1": "F1",
    "log_loss": "log loss",
    "brier": "Brier",
    "roc_auc": "ROC AUC",
    "average_precision": "avg. prec.",
    "ece": "ECE",
}
"""The metrics with their names on tables."""


@dataclasses.dataclass(frozen=True, slots=True)
class LabelRows:
    """What one subject has answered, for the rows that it has answered.

    Attributes:
        true: The number of each row's class, ``[N]``.
        found: The number of the class that was answered, ``[N]``.
        scores: A probability per class, ``[N, K]``, or None.
        classes: How many classes there are, ``K``.
        positive: The number of the positive class where there are two, else None.
    """

    true: np.ndarray
    found: np.ndarray
    scores: np.ndarray | None
    classes: int
    positive: int | None

    def wrong(self) -> np.ndarray:
        """Returns 1.0 for each row that is wrong, ``[N]``."""
        return np.asarray(self.true != self.found, np.float64)

    def surprise(self) -> np.ndarray:
        """Returns each row's share of the log loss, ``[N]``."""
        if self.scores is None:
            return np.zeros(0)
        own = self.scores[np.arange(len(self.true)), self.true]
        return np.asarray(-np.log(np.clip(own, _LEAST, 1 - _LEAST)))


def label_metrics(rows: LabelRows) -> dict[str, float | None]:
    """Returns the metrics of a subject; None where there are no probabilities, or a metric is not defined."""
    functions = metric_functions()
    if not len(rows.true):
        return dict.fromkeys(NAMES)
    with warnings.catch_warnings():
        # Answers of classes that no label has, and probabilities that were rounded.
        warnings.simplefilter("ignore")
        found: dict[str, float | None] = {
            "accuracy": functions.accuracy_score(rows.true, rows.found),
            "balanced_accuracy": functions.balanced_accuracy_score(rows.true, rows.found),
            "f1": _f1(functions, rows),
            **dict.fromkeys(("log_loss", "brier", "roc_auc", "average_precision", "ece")),
        }
        if rows.scores is not None:
            labels = np.arange(rows.classes)
            found["log_loss"] = functions.log_loss(rows.true, rows.scores, labels=labels)
            found["brier"] = _brier(rows)
            found["roc_auc"] = _per_class(rows, functions.roc_auc_score)
            found["average_precision"] = _per_class(rows, functions.average_precision_score)
            found["ece"] = _ece(rows)
    return {name: None if value is None else float(value) for name, value in found.items()}


def _f1(functions: Any, rows: LabelRows) -> float:
    if rows.positive is not None:
        return float(functions.f1_score(rows.true == rows.positive, rows.found == rows.positive))
    return float(functions.f1_score(rows.true, rows.found, average="macro"))


def _brier(rows: LabelRows) -> float | None:
    """Returns the Brier score: of two classes that of the positive one, of more the sum over all of them."""
    if rows.scores is None:
        return None
    if rows.positive is not None:
        return float(np.mean((rows.scores[:, rows.positive] - (rows.true == rows.positive)) ** 2))
    hits = np.zeros_like(rows.scores)
    hits[np.arange(len(rows.true)), rows.true] = 1
    return float(np.mean(np.sum((rows.scores - hits) ** 2, axis=1)))


def _per_class(rows: LabelRows, function: Any) -> float | None:
    """Returns a metric of two classes: of the positive one, or its mean over the classes that rows have."""
    if rows.scores is None:
        return None
    wanted = range(rows.classes) if rows.positive is None else (rows.positive,)
    found = []
    for one in wanted:
        hits = rows.true == one
        if hits.any() and not hits.all():
            found.append(function(hits, rows.scores[:, one]))
    return float(np.mean(found)) if found else None


def _confidence(rows: LabelRows, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns what was claimed and what came true: of two classes of the positive one, of more of the likeliest."""
    if rows.positive is not None:
        return scores[:, rows.positive], (rows.true == rows.positive).astype(np.float64)
    best = np.argmax(scores, axis=1)
    return scores[np.arange(len(best)), best], (rows.true == best).astype(np.float64)


def reliability(rows: LabelRows) -> list[tuple[float, float, int]]:
    """Returns the mean probability, the share that came true, and the rows of each bin that is not empty."""
    if rows.scores is None:
        return []
    claimed, came = _confidence(rows, rows.scores)
    bins = np.clip((claimed * BINS).astype(np.int64), 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    claims, hits = np.bincount(bins, claimed, BINS), np.bincount(bins, came, BINS)
    return [
        (float(claims[at] / counts[at]), float(hits[at] / counts[at]), int(counts[at]))
        for at in np.flatnonzero(counts).tolist()
    ]


def _ece(rows: LabelRows) -> float:
    """Returns the expected calibration error: the bins' gaps, weighted by their rows (Guo et al., 2017)."""
    return sum(abs(claimed - came) * count for claimed, came, count in reliability(rows)) / len(rows.true)


def confusion(rows: LabelRows) -> list[list[int]]:
    """Returns how many rows of each class (rows) got which answer (columns)."""
    found = metric_functions().confusion_matrix(rows.true, rows.found, labels=np.arange(rows.classes))
    return [[int(count) for count in row] for row in found]


def roc_points(rows: LabelRows) -> list[tuple[float, float]]:
    """Returns points of the ROC curve of two classes: false against true positives."""
    if rows.scores is None or rows.positive is None or not _has_both(rows):
        return []
    false, true, _ = metric_functions().roc_curve(rows.true == rows.positive, rows.scores[:, rows.positive])
    return _thinned(false, true)


def precision_points(rows: LabelRows) -> list[tuple[float, float]]:
    """Returns points of the precision-recall curve of two classes: recall against precision."""
    if rows.scores is None or rows.positive is None or not _has_both(rows):
        return []
    curve = metric_functions().precision_recall_curve
    precision, recall, _ = curve(rows.true == rows.positive, rows.scores[:, rows.positive])
    return _thinned(recall[::-1], precision[::-1])


def _has_both(rows: LabelRows) -> bool:
    hits = rows.true == rows.positive
    return bool(hits.any() and not hits.all())


def _thinned(across: np.ndarray, up: np.ndarray) -> list[tuple[float, float]]:
    step = max(1, -(-len(across) // _MOST_POINTS))
    chosen = sorted({*range(0, len(across), step), len(across) - 1})
    return [(float(across[at]), float(up[at])) for at in chosen]
