"""Learns a profile of an ensemble's inputs, batch after batch, in memory that does not grow with the rows."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch, RowBatch
from beam_ensembles.columns.input_cells import numbers_of, texts_of
from beam_ensembles.errors import EnsembleError
from beam_ensembles.evaluation.request import Progress, Request
from beam_ensembles.graph.kinds import validity
from beam_ensembles.graph.profile import (
    CATEGORIES,
    LONGEST_CATEGORY,
    NULLS,
    ColumnProfile,
    Numbers,
    Profile,
    kind_of,
)
from beam_ensembles.limits import MOST_CATEGORIES
from beam_ensembles.local.row_files import NOT_ADDED, chunks_of, open_rows
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.runtime.loading import graph_of_file, with_own_folder
from beam_ensembles.runtime.row_source import RowSource
from beam_ensembles.tables.formats import Columns
from beam_ensembles.types import Type

SAMPLED: Final = 10_000
"""Rows whose numbers are kept to find quantiles of; the smallest and the largest are those of all rows."""
_CELLS: Final = 10
_LEAST_IN_A_CELL: Final = 10


class ProfileLearner:
    """Learns what the rows of batches are like.

    Args:
        ensemble: Name of the ensemble.
        inputs: The inputs that it reads, with their types.
    """

    def __init__(self, ensemble: str, inputs: Iterable[tuple[str, Type]]) -> None:
        self._ensemble, self._rows = ensemble, 0
        self._random = np.random.default_rng(0)  # the same rows give the same profile
        self._keys = np.empty(0)
        self._columns = {name: _column(type_) for name, type_ in inputs}

    def add(self, batch: ColumnBatch) -> None:
        """Learns from the rows of a batch."""
        rows = len(batch)
        if not rows:
            return
        keys = np.concatenate([self._keys, self._random.random(rows)])
        kept = np.arange(len(keys))
        if len(keys) > SAMPLED:
            kept = np.sort(np.argpartition(keys, SAMPLED)[:SAMPLED])
        self._keys = keys[kept]
        self._rows += rows
        for name, column in self._columns.items():
            present = batch.columns.get(validity(name))
            column.add(batch.columns[name], None if present is None else ~present, kept)

    def profile(self) -> Profile:
        """Returns what was learned."""
        return Profile(
            self._ensemble,
            self._rows,
            {name: column.learned(self._rows) for name, column in self._columns.items()},
        )


class _Column:
    """Learns how often a column is null."""

    def __init__(self, type_: Type) -> None:
        self._type = type_
        self._nulls = 0

    def add(self, values: np.ndarray, nulls: np.ndarray | None, kept: np.ndarray) -> None:
        """Learns from rows.

        Args:
            values: The column.
            nulls: Which of them are null; None: none.
            kept: Which rows stay in the sample: places in the sample so far, followed by these rows.
        """
        self._nulls += 0 if nulls is None else int(np.count_nonzero(nulls))

    def learned(self, rows: int) -> ColumnProfile:
        """Returns what was learned of so many rows."""
        return ColumnProfile(str(self._type), NULLS, rows, self._nulls)


class _Texts(_Column):
    """Learns the categories of a column, until they turn out to be too many."""

    def __init__(self, type_: Type) -> None:
        super().__init__(type_)
        self._counts: collections.Counter[Any] | None = collections.Counter()

    def add(self, values: np.ndarray, nulls: np.ndarray | None, kept: np.ndarray) -> None:
        super().add(values, nulls, kept)
        if self._counts is None:
            return
        self._counts.update(texts_of(values if nulls is None else values[~nulls]))
        if len(self._counts) > MOST_CATEGORIES or any(len(text) > LONGEST_CATEGORY for text in self._counts):
            self._counts = None

    def learned(self, rows: int) -> ColumnProfile:
        if self._counts is None:
            return super().learned(rows)
        categories = dict(sorted(self._counts.items(), key=lambda one: (-one[1], one[0])))
        return ColumnProfile(str(self._type), CATEGORIES, rows, self._nulls, (), categories)


class _Numbers(_Column):
    """Learns how the numbers of a column are distributed, or those of its tensors or lists."""

    def __init__(self, type_: Type, kind: str) -> None:
        super().__init__(type_)
        self._kind = kind
        self._sample: np.ndarray | None = None
        self._null_sample = np.empty(0, np.bool_)
        self._ends: np.ndarray | None = None

    def add(self, values: np.ndarray, nulls: np.ndarray | None, kept: np.ndarray) -> None:
        found = np.array(numbers_of(values, self._kind), np.float64)
        is_null = np.zeros(len(found), np.bool_) if nulls is None else nulls
        found[is_null] = np.nan
        finite = np.where(np.isfinite(found), found, np.nan)
        ends = np.stack([np.fmin.reduce(finite), np.fmax.reduce(finite)])
        if self._sample is None or self._ends is None:
            self._sample, self._ends = found[kept], ends
        else:
            self._sample = np.concatenate([self._sample, found])[kept]
            self._ends = np.stack([np.fmin(self._ends[0], ends[0]), np.fmax(self._ends[1], ends[1])])
        self._null_sample = np.concatenate([self._null_sample, is_null])[kept]

    def learned(self, rows: int) -> ColumnProfile:
        if self._sample is None or self._ends is None:
            return super().learned(rows)
        nulls = int(np.count_nonzero(self._null_sample))
        numbers = tuple(
            _numbers(values[~self._null_sample], smallest, largest)
            for values, smallest, largest in zip(self._sample.T, *self._ends, strict=True)
        )
        return ColumnProfile(str(self._type), self._kind, len(self._null_sample), nulls, numbers)


def _numbers(values: np.ndarray, smallest: float, largest: float) -> Numbers:
    missing, low, high = (int(np.count_nonzero(found)) for found in _not_finite(values))
    finite = np.sort(values[np.isfinite(values)])
    if np.isnan(smallest) or not len(finite):
        return Numbers(None, None, (), (), missing, low, high)
    cells = min(_CELLS, max(1, len(finite) // _LEAST_IN_A_CELL))
    at = [len(finite) * cell // cells - 1 for cell in range(1, cells)]
    quantiles = np.unique(finite[at]) if at else finite[:0]
    quantiles = quantiles[quantiles < largest]
    counts = np.bincount(np.searchsorted(quantiles, finite, "left"), minlength=len(quantiles) + 1)
    return Numbers(
        float(smallest), float(largest), tuple(quantiles.tolist()), tuple(counts.tolist()), missing, low, high
    )


def _not_finite(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.isnan(values), np.isneginf(values), np.isposinf(values)


def _column(type_: Type) -> _Column:
    kind = kind_of(type_)
    if kind == NULLS:
        return _Column(type_)
    return _Texts(type_) if kind == CATEGORIES else _Numbers(type_, kind)


def learn_profile(request: Request, show: Progress = lambda _, __, ___: None) -> Profile:
    """Learns the profile of an ensemble's inputs from a file of rows. No model is loaded.

    Args:
        request: The ensemble and the rows; what it says of labels does not count.
        show: Is told how far it is.

    Raises:
        InvalidEnsemble: The ensemble file, or (``InvalidRows``) the file of rows as a whole is not valid.
        EnsembleError: There are no rows that are as the ensemble declares them.
        OSError: A file cannot be read.
    """
    show("checking the ensemble", None, 0)
    trust = with_own_folder(request.file, request.trust)
    graph = graph_of_file(request.file, parameters=request.parameters, trust=trust, with_profile=False)
    reader = open_rows(request.input, graph, Columns(dict(graph.columns_read), ()), prefix=NOT_ADDED)
    code, learner, rows = (
        stage_of(graph, columns_of(graph)),
        ProfileLearner(graph.spec.name, graph.columns_read),
        0,
    )
    for chunk in chunks_of(reader, request.input, request.batch_size):
        learner.add(RowSource(RowBatch(chunk)).read(code))
        rows += len(chunk) + len(chunk.faults)
        show("learning the profile", reader, rows)
    profile = learner.profile()
    if not profile.rows:
        found = (
            f"none of the {rows:,} rows is as the ensemble declares its inputs" if rows else "it has no rows"
        )
        raise EnsembleError(f"no profile can be learned of '{request.input}': {found}")
    return profile
