"""Metrics of answers that are ranked lists: how early what is relevant stands in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.evaluation.scikit_learn import metric_functions

_AT_ONCE: Final = 4_096


def names(k: int) -> dict[str, str]:
    """Returns the metrics with their names on tables."""
    return {"ndcg": f"NDCG@{k}", "mrr": "MRR", "hit": f"hit@{k}"}


def list_metrics(true: Sequence[Any], found: Sequence[Sequence[Any]], k: int) -> dict[str, float | None]:
    """Returns the metrics of ranked lists.

    Args:
        true: The relevant candidates of each row: one candidate, or a list of some.
        found: The candidates that were answered, the best first.
        k: How many of them count.
    """
    if not len(true):
        return dict.fromkeys(names(k))
    first = first_places(true, found)
    return {
        "ndcg": _ndcg(true, found, k),
        "mrr": float(np.mean(reciprocal(first))),
        "hit": float(np.mean((first > 0) & (first <= k))),
    }


def relevant(label: Any) -> list[Any]:
    """Returns what is relevant in a row, each once."""
    return list(dict.fromkeys(label if isinstance(label, list) else [label]))


def first_places(true: Sequence[Any], found: Sequence[Sequence[Any]]) -> np.ndarray:
    """Returns the place of the first relevant candidate of each row, from 1; 0 where there is none, ``[N]``."""
    places = np.zeros(len(true), np.int64)
    for row, (label, items) in enumerate(zip(true, found, strict=True)):
        wanted = set(relevant(label))
        places[row] = next((at for at, item in enumerate(items, start=1) if item in wanted), 0)
    return places


def reciprocal(places: np.ndarray) -> np.ndarray:
    """Returns the reciprocal ranks, 0 where nothing relevant was answered, ``[N]``."""
    return np.asarray(np.divide(1.0, places, out=np.zeros(len(places)), where=places > 0))


def _ndcg(true: Sequence[Any], found: Sequence[Sequence[Any]], k: int) -> float:
    """Returns scikit-learn's NDCG; relevant candidates that were not answered stand behind all places that count."""
    total = 0.0
    for start in range(0, len(true), _AT_ONCE):
        rows = [
            _hits(label, items, k)
            for label, items in zip(
                true[start : start + _AT_ONCE], found[start : start + _AT_ONCE], strict=True
            )
        ]
        width = max(2, *map(len, rows))
        hits = np.zeros((len(rows), width))
        for at, row in enumerate(rows):
            hits[at, : len(row)] = row
        places = np.broadcast_to(np.arange(width, 0, -1, dtype=np.float64), hits.shape)
        score = metric_functions().ndcg_score(hits, places, k=k, ignore_ties=True)
        total += float(score) * len(rows)
    return total / len(true)


def _hits(label: Any, items: Sequence[Any], k: int) -> list[float]:
    """Returns whether each candidate is relevant: those answered, then nothing up to ``k``, then those missed."""
    wanted, shown = set(relevant(label)), list(dict.fromkeys(items))
    hits = [float(one in wanted) for one in shown]
    return hits + [0.0] * max(0, k - len(shown)) + [1.0] * len(wanted.difference(shown))
