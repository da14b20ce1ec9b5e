"""Puts the rows that a node runs on together to full batches, within a bundle; the others go on at once.

Written for Beam 2.77 (``windowed_value.create``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.utils.windowed_value import WindowedValue, create

from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.runtime.conditions import RowsWhere
from beam_ensembles.runtime.in_flight import InFlight, joined


@dataclasses.dataclass(slots=True)
class _Waiting:
    """Rows that wait, of one set of windows: parts of batches, each with its element's event time."""

    parts: list[tuple[InFlight, int]] = dataclasses.field(default_factory=list)
    rows: int = 0

    def add(self, part: InFlight, micros: int) -> None:
        self.parts.append((part, micros))
        self.rows += len(part)

    def take(self, size: int) -> tuple[InFlight, int]:
        """Takes rows out: as many as are wanted, or all where there are fewer."""
        taken: list[tuple[InFlight, int]] = []
        left = size
        while left > 0 and self.parts:
            part, micros = self.parts.pop(0)
            if len(part) > left:
                first = np.arange(len(part)) < left
                part, rest = part.part(first)
                self.parts.insert(0, (rest, micros))
            taken.append((part, micros))
            left -= len(part)
        self.rows -= size - left
        if len(taken) == 1:
            return taken[0]
        return joined([part.timed(micros) for part, micros in taken]), min(micros for _, micros in taken)


class Gather(beam.DoFn):
    """Parts batches: rows that a node runs on wait for more of their bundle, the others go on.

    Args:
        node: The node, which has a ``when``.
        size: Rows a batch.
    """

    def __init__(self, node: CheckedNode, size: int) -> None:
        self._node, self._size = node, size

    def setup(self) -> None:
        self._where = RowsWhere(self._node)

    def start_bundle(self) -> None:
        self._waiting: dict[Any, _Waiting] = {}

    def process(
        self, batch: InFlight, timestamp: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
    ) -> Iterator[Any]:
        runs, _ = self._where(batch.columns)  # rows on which the condition fails are the node's to report
        key = (window, batch.source.time_key(timestamp.micros))
        count = int(np.count_nonzero(runs))
        if not count:
            yield batch
            return
        waiting = self._waiting.get(key)
        if waiting is None and count == len(batch) == self._size:
            yield batch
            return
        if count < len(batch):
            batch, rest = batch.part(runs)
            yield rest
        if waiting is None:
            waiting = self._waiting[key] = _Waiting()
        waiting.add(batch, timestamp.micros)
        while waiting.rows >= self._size:
            yield self._windowed(waiting.take(self._size), window)
        if not waiting.rows:
            del self._waiting[key]

    def finish_bundle(self) -> Iterator[WindowedValue]:
        for (window, _), waiting in self._waiting.items():
            yield self._windowed(waiting.take(waiting.rows), window)
        self._waiting = {}

    def _windowed(self, taken: tuple[InFlight, int], window: Any) -> Any:
        batch, micros = taken
        return create(batch, micros, (window,))
