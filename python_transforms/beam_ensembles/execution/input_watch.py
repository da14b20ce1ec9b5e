"""Compares the input columns of a worker with a profile, a window of rows after the other."""

from __future__ import annotations

import collections
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
    HIGH,
    LOW,
    NULL,
    UNSEEN,
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
EVERY: Final = 4
_UNSEEN, _REST = 1, 2  # among the cells of categories
_NAMED: Final = 4
"""So many cells of a comparison, the first ones, are counted by their names."""
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
        self._freedom = self._is_cell.sum(axis=1) - 1
        self._freedom[self._expects_new] -= 1
        self._is_cell[self._expects_new, _UNSEEN] = False
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
        counts = self._window.counts(rows)
        seen, _ = padded(counts)
        seen[self._expects_new, _REST] += seen[self._expects_new, _UNSEEN]
        seen[self._expects_new, _UNSEEN] = 0
        parts = stability_index(seen, self._learned, self._is_cell)
        index = parts.sum(axis=1)
        limits = critical_values(self._freedom, self._windows)
        drifted = (index >= LEAST_INDEX) & (g_statistic(seen, self._learned) > limits)
        for meter, places in self._columns:
            self._count(meter, rows, places, counts, index)
            if drifted[places].any():
                meter.drifted()
                worst = max(places, key=lambda at: index[at] if drifted[at] else 0.0)
                evidence = Evidence(
                    rows, self._before, tuple(seen[worst].tolist()), float(index[worst]), parts[worst]
                )
                self._note(worst, evidence)

    def _count(
        self, meter: InputMeter, rows: int, places: list[int], counts: list[list[int]], index: np.ndarray
    ) -> None:
        of_cells: collections.Counter[str] = collections.Counter()
        for at in places:
            of_cells.update(dict(zip(self._window.comparisons[at].cells[:_NAMED], counts[at], strict=False)))
        meter.compared(
            rows,
            nulls=of_cells[NULL] // len(places),
            out_of_range=of_cells[LOW] + of_cells[HIGH],
            unseen=of_cells[UNSEEN],
            index=float(index[places].max()),
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
        self._nulls = {name: np.zeros(WINDOW, np.bool_) for name in known}

    def put(self, columns: Mapping[str, np.ndarray], places: slice, start: int) -> None:
        """Puts some rows of a batch into the window, from a place on."""
        for name, nulls in self._nulls.items():
            values, present = columns[name][places], columns.get(validity(name))
            there = slice(start, start + len(values))
            nulls[there] = False if present is None else ~present[places]
            if name in self._numbers:
                found = numbers_of(values, self._kinds[name])
                self._values[self._numbers[name], there] = found.T
                if present is not None:
                    self._values[self._numbers[name], there][:, nulls[there]] = np.nan
            elif name in self._texts:
                self._texts[name][there] = texts_of(values)

    def counts(self, rows: int) -> list[list[int]]:
        """Returns how many of the first rows of the window are in each cell of each comparison."""
        nulls = {name: int(np.count_nonzero(found[:rows])) for name, found in self._nulls.items()}
        found: list[list[int]] = []
        if self._positions:
            of_numbers = self.comparisons[: self._positions]
            null = np.array([nulls[one.column] for one in of_numbers])
            cells = np.column_stack((null, self._edges.counts(self._values[:, :rows], null)))
            found += [row[: len(one.cells)] for one, row in zip(of_numbers, cells.tolist(), strict=True)]
        for name, categories in self._categories.items():
            codes = categories.codes(self._present_texts(name, rows))
            counted = np.bincount(codes, minlength=len(categories.comparison.cells)).tolist()
            found.append([nulls[name], *counted[1:]])
        return found + [[nulls[name], rows - nulls[name]] for name in self._only_nulls]

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
