"""Compares the input columns of a worker with a profile, a window of rows after the other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.columns.input_cells import numbers_of, texts_of
from beam_ensembles.execution.drift_statistics import (
    LEAST_INDEX,
    critical_values,
    g_statistic,
    stability_index,
)
from beam_ensembles.execution.drifts import Drift, Drifts, Evidence
from beam_ensembles.execution.node_metrics import InputMeter, Update, write_metric
from beam_ensembles.execution.profile_cells import (
    Categories,
    Comparison,
    Edges,
    null_comparison,
    number_comparisons,
    padded,
)
from beam_ensembles.graph.kinds import validity
from beam_ensembles.graph.profile import CATEGORIES, NULLS, ColumnProfile, Profile

_LOGGER: Final = logging.getLogger(__name__)
WINDOW: Final = 500
"""Rows that are compared at once."""
FIRST_ROWS: Final = 2_000
"""So many rows are all compared; of later ones one in ``EVERY`` is."""
EVERY: Final = 6
_LOW, _HIGH = 2, 3
"""Where these cells are among those of numbers."""
_UNSEEN, _REST = 1, 2
"""Where these cells are among those of categories."""
LEAST_ROWS: Final = 100
"""Fewer rows at the end of a run are not compared."""


class InputWatch:
    """Counts, for each input that a profile knows, what is new in the rows, and notes inputs that have drifted.

    Threads may share it. It holds one window of rows.

    Args:
        ensemble: Name of the ensemble.
        profile: What the inputs were like.
        inputs: The columns that the rows have; what the profile knows of others is not used.
        write: Takes each update of a metric.
    """

    def __init__(
        self,
        ensemble: str,
        profile: Profile,
        inputs: frozenset[str],
        write: Callable[[Update], None] = write_metric,
    ) -> None:
        known = {name: column for name, column in profile.columns.items() if name in inputs}
        self._ensemble, self._lock = ensemble, threading.Lock()
        self._rows, self._next, self._filled, self._windows = 0, 0, 0, 0
        self._before = 0
        self._window, self._drifts = _Window(known), Drifts()
        compared = self._window.comparisons
        self._learned, self._is_cell = padded([one.learned for one in compared])
        self._expects_new = np.array([at for at, one in enumerate(compared) if one.expects_new], np.int64)
        self._is_cell[self._expects_new, _UNSEEN] = False
        self._freedom = self._is_cell.sum(axis=1) - 1
        self._columns = [
            (InputMeter(ensemble, name, write), [at for at, one in enumerate(compared) if one.column == name])
            for name in known
        ]

    def add(self, batch: ColumnBatch) -> None:
        """Takes the rows of a batch, before any node has run."""
        rows = len(batch)
        with self._lock:
            while self._next < rows:
                step = 1 if self._rows + self._next < FIRST_ROWS else EVERY
                stop = min(rows, self._next + (WINDOW - self._filled) * step)
                if not self._filled:
                    self._before = self._rows + self._next
                places = slice(self._next, stop, step)
                self._window.put(batch.columns, places, self._filled)
                count = len(range(rows)[places])
                self._filled += count
                self._next += count * step
                if self._filled == WINDOW:
                    self._judge()
            self._next -= rows
            self._rows += rows

    def finish(self) -> tuple[Drift, ...]:
        """Compares the rows that are no whole window yet, and returns the inputs that have drifted, the worst first."""
        with self._lock:
            if self._filled >= LEAST_ROWS:
                self._judge()
            return self._drifts.all

    def _judge(self) -> None:
        rows, self._filled = self._filled, 0
        self._windows += 1
        counts = np.zeros_like(self._learned)
        self._window.count(counts, rows)
        seen = counts
        if len(self._expects_new):
            seen = counts.copy()
            seen[self._expects_new, _REST] += seen[self._expects_new, _UNSEEN]
            seen[self._expects_new, _UNSEEN] = 0
        parts = stability_index(seen, self._learned, self._is_cell)
        index = parts.sum(axis=1)
        drifted = index >= LEAST_INDEX
        if drifted.any():
            drifted &= g_statistic(seen, self._learned) > critical_values(self._freedom, self._windows)
        self._write(rows, counts, index, drifted)
        for meter, places in self._columns if drifted.any() else ():
            worst = max(places, key=lambda at: index[at] if drifted[at] else 0.0)
            if drifted[worst]:
                meter.drifted()
                found = tuple(seen[worst].tolist())
                self._note(worst, Evidence(rows, self._before, found, float(index[worst]), parts[worst]))

    def _write(self, rows: int, counts: np.ndarray, index: np.ndarray, drifted: np.ndarray) -> None:
        out_of_range, unseen = self._window.unknown(counts)
        nulls, outside, new = counts[:, 0].tolist(), out_of_range.tolist(), unseen.tolist()
        indices = index.tolist()
        for meter, places in self._columns:
            meter.compared(
                rows,
                nulls=nulls[places[0]],
                out_of_range=sum(outside[at] for at in places),
                unseen=new[places[0]],
                index=max(indices[at] for at in places),
            )

    def _note(self, at: int, evidence: Evidence) -> None:
        compared = self._window.comparisons[at]
        if self._drifts.add(compared, evidence, lambda: self._window.example(at, evidence.rows)):
            text = "ensemble '%s': the input '%s' differs from its profile (population stability index %.2f)"
            _LOGGER.warning(text, self._ensemble, compared.name, evidence.index)


class _Window:
    """The values of one window, and what they are compared with.

    Args:
        known: The profile of each column.

    Attributes:
        comparisons: The comparisons.
    """

    def __init__(self, known: Mapping[str, ColumnProfile]) -> None:
        numbers = {name: one for name, one in known.items() if one.kind not in (CATEGORIES, NULLS)}
        self._kinds = {name: one.kind for name, one in known.items()}
        self._numbers: dict[str, slice] = {}
        self.comparisons: list[Comparison] = []
        for name, one in numbers.items():
            self._numbers[name] = slice(len(self.comparisons), len(self.comparisons) + len(one.numbers))
            self.comparisons += number_comparisons(name, one)
        self._positions = len(self.comparisons)
        self._edges = Edges([one for column in numbers.values() for one in column.numbers])
        self._values = np.empty((self._positions, WINDOW))
        self._categories: dict[str, Categories] = {}
        self._texts: dict[str, list[Any]] = {}
        for name, one in known.items():
            if one.kind == CATEGORIES:
                self._categories[name] = Categories(name, one)
                self._texts[name] = [None] * WINDOW
                self.comparisons.append(self._categories[name].comparison)
        self._only_nulls = [name for name, one in known.items() if one.kind == NULLS]
        self.comparisons += [null_comparison(name, known[name]) for name in self._only_nulls]
        self._had_nulls = False
        self._nulls = {name: np.zeros(WINDOW, np.bool_) for name in known}

    def put(self, columns: Mapping[str, np.ndarray], places: slice, start: int) -> None:
        """Puts some rows of a batch into the window, from a place on."""
        self._had_nulls = self._had_nulls or any(validity(name) in columns for name in self._nulls)
        for name, nulls in self._nulls.items():
            values, present = columns[name][places], columns.get(validity(name))
            there = slice(start, start + len(values))
            if present is not None:
                nulls[there] = ~present[places]
            elif self._had_nulls:
                nulls[there] = False
            if name in self._numbers:
                found = numbers_of(values, self._kinds[name])
                self._values[self._numbers[name], there] = found.T
                if present is not None:
                    self._values[self._numbers[name], there][:, nulls[there]] = np.nan
            elif name in self._texts:
                self._texts[name][there] = texts_of(values)

    def count(self, counts: np.ndarray, rows: int) -> None:
        """Counts how many of the first rows of the window are in each cell of each comparison.

        Args:
            counts: Takes them, ``[comparisons, cells]``.
            rows: How many rows.
        """
        nulls = {name: int(np.count_nonzero(found[:rows])) for name, found in self._nulls.items()}
        counts[:, 0] = [nulls[one.column] for one in self.comparisons]
        if self._positions:
            found = self._edges.counts(self._values[:, :rows], counts[: self._positions, 0])
            counts[: self._positions, 1 : 1 + found.shape[1]] = found
        for at, (name, categories) in enumerate(self._categories.items(), start=self._positions):
            cells = len(categories.comparison.cells)
            codes = categories.codes(self._present_texts(name, rows))
            counts[at, 1:cells] = np.bincount(codes, minlength=cells)[1:]
        first = self._positions + len(self._categories)
        counts[first:, 1] = rows - counts[first:, 0]

    def unknown(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns how many numbers are out of range, and how many categories are new, for each comparison."""
        at, categories = np.arange(len(counts)), self._positions + len(self._categories)
        out_of_range = np.where(at < self._positions, counts[:, _LOW] + counts[:, _HIGH], 0)
        unseen = np.where((self._positions <= at) & (at < categories), counts[:, _UNSEEN], 0)
        return out_of_range, unseen

    def example(self, at: int, rows: int) -> Any:
        """Returns what the window has at a comparison: the median of its numbers, or a category that is new."""
        compared = self.comparisons[at]
        if at < self._positions:
            values = self._values[at, :rows]
            values = values[~np.isnan(values)]
            return float(np.median(values)) if len(values) else None
        if compared.column in self._categories:
            return self._categories[compared.column].unseen(self._present_texts(compared.column, rows))
        return None

    def _present_texts(self, name: str, rows: int) -> list[Any]:
        nulls = self._nulls[name][:rows].tolist()
        texts = self._texts[name][:rows]
        return (
            [text for text, is_null in zip(texts, nulls, strict=True) if not is_null] if any(nulls) else texts
        )
