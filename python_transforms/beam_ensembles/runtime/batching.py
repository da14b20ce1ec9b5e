"""Rows to batches before inference and batches to rows after it, keeping each row's event time and windows.

Beam's ``BatchElements`` gives every row of a batch the batch's time, which after it is the end of the window. Pane
information is not kept. A row's time is read from its ``WindowedValue``, where it is a number: asked for by
``TimestampParam``, Beam would make an object of it, which costs as much a row as everything else here. Written for Beam
2.77 (``windowed_value.create``, ``WindowedValue.timestamp_micros``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue, create

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.execution.loaded_stage import bundle_error
from beam_ensembles.runtime.row_source import BatchResult

DEFAULT_BATCH_SIZE = 1_024
"""Rows a batch, at most; the last batch of a bundle is smaller."""

_GLOBAL = (GlobalWindow(),)


def _batch(elements: list[Any], micros: list[int], windows: tuple[Any, ...]) -> Any:
    if micros.count(micros[0]) == len(micros):
        return create(RowBatch(elements, None, windows), micros[0], windows)
    oldest = min(micros)  # a shuffle further on holds the watermark there
    return create(RowBatch(elements, micros, windows), oldest, windows)


class BatchGlobally(beam.DoFn):
    """Gathers the rows of a bundle where all are in the global window.

    Args:
        size: Rows a batch, at most.
    """

    def __init__(self, size: int = DEFAULT_BATCH_SIZE) -> None:
        self._size = size

    def start_bundle(self) -> None:
        self._elements: list[Any] = []
        self._micros: list[int] = []

    def process(
        self, element: Any, value: Any = beam.DoFn.WindowedValueParam
    ) -> Iterable[WindowedValue] | None:
        elements = self._elements
        elements.append(element)
        self._micros.append(value.timestamp_micros)
        return [self._take()] if len(elements) >= self._size else None

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._elements:
            yield self._take()

    def _take(self) -> Any:
        elements, micros = self._elements, self._micros
        self.start_bundle()
        return _batch(elements, micros, _GLOBAL)


class BatchPerWindow(beam.DoFn):
    """Gathers the rows of a bundle window by window.

    Args:
        size: Rows a batch, at most.
    """

    def __init__(self, size: int = DEFAULT_BATCH_SIZE) -> None:
        self._size = size

    def start_bundle(self) -> None:
        self._waiting: dict[Any, tuple[list[Any], list[int]]] = {}

    def process(
        self, element: Any, window: Any = beam.DoFn.WindowParam, value: Any = beam.DoFn.WindowedValueParam
    ) -> Iterable[WindowedValue] | None:
        elements, micros = self._waiting.setdefault(window, ([], []))
        elements.append(element)
        micros.append(value.timestamp_micros)
        return [_batch(*self._waiting.pop(window), (window,))] if len(elements) >= self._size else None

    def finish_bundle(self) -> Iterator[WindowedValue]:
        for window, (elements, micros) in self._waiting.items():
            yield _batch(elements, micros, (window,))
        self._waiting = {}


class Unbatch(beam.DoFn):
    """Emits the rows of a batch one by one; a failed row goes to the error output or, without one, fails the bundle.

    Args:
        ensemble: Name of the ensemble, for the message.
        errors: Tag of the error output, or None.
    """

    def __init__(self, ensemble: str, errors: str | None) -> None:
        self._ensemble = ensemble
        self._errors = errors

    def process(self, result: BatchResult) -> Iterable[Any]:
        if not result.failed:
            return _timed(result.ok, result.micros, result.windows)
        if self._errors is None:
            raise bundle_error(self._ensemble, result.failed[0][0])
        failed = _timed([row for _, row in result.failed], result.failed_micros, result.windows)
        tagged = (beam.pvalue.TaggedOutput(self._errors, row) for row in failed)
        return itertools.chain(_timed(result.ok, result.micros, result.windows), tagged)


def _timed(rows: Sequence[Any], micros: Sequence[int] | None, windows: tuple[Any, ...]) -> Iterable[Any]:
    """Returns rows their event times back; rows that have that of their batch need nothing."""
    return rows if micros is None else map(create, rows, micros, itertools.repeat(windows))
