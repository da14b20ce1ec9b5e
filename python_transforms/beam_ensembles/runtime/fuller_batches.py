"""Puts the rows that a node runs on together to full batches, within a bundle; the others go on at once.

The rest at the end of a bundle goes on too, or waits for rows of other bundles (``waiting.py``). Written for Beam
2.77 (``windowed_value.create``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.utils.windowed_value import create

from beam_ensembles.execution.conditions import RowsWhere
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.runtime.between_stages import InFlight, joined


@dataclasses.dataclass(slots=True)
class WaitingRows:
    """Rows that wait, of one set of windows: parts of batches, each with its element's event time.

    Attributes:
        parts: The parts, in the order in which they came.
        rows: How many rows they hold together.
    """

    parts: list[tuple[InFlight, int]] = dataclasses.field(default_factory=list)
    rows: int = 0

    def add(self, part: InFlight, micros: int) -> None:
        """Adds rows to those that wait."""
        self.parts.append((part, micros))
        self.rows += len(part)

    def take(self, size: int) -> tuple[InFlight, int]:
        """Takes rows out: as many as are wanted, or all where there are fewer; gives them with their element's time."""
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
        node: The node; where it has no ``when``, it runs on all rows.
        size: Rows a batch.
        waiting: Tag of an output for what is left at the end of a bundle: pairs of a key, which rows must share to be
            put together, and a batch, at the time of its oldest row. None: that goes on with the rest.
    """

    def __init__(self, node: CheckedNode, size: int, waiting: str | None = None) -> None:
        self._node, self._size, self._tag = node, size, waiting

    def setup(self) -> None:
        self._where = None if self._node.spec.when is None else RowsWhere(self._node)

    def start_bundle(self) -> None:
        self._waiting: dict[Any, WaitingRows] = {}

    def process(
        self, batch: InFlight, timestamp: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
    ) -> Iterator[Any]:
        runs = self._runs(batch)
        key = (window, batch.source.time_key(timestamp.micros), batch.version)
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
            waiting = self._waiting[key] = WaitingRows()
        waiting.add(batch, timestamp.micros)
        while waiting.rows >= self._size:
            full, micros = waiting.take(self._size)
            yield create(full, micros, (window,))
        if not waiting.rows:
            del self._waiting[key]

    def finish_bundle(self) -> Iterator[Any]:
        for (window, *shared), waiting in self._waiting.items():
            batch, micros = waiting.take(waiting.rows)
            if self._tag is None:
                yield create(batch, micros, (window,))
            else:
                keyed = create((repr(shared), batch), batch.source.oldest(micros), (window,))
                yield beam.pvalue.TaggedOutput(self._tag, keyed)
        self._waiting = {}

    def _runs(self, batch: InFlight) -> np.ndarray:
        if self._where is None:
            return np.ones(len(batch.columns), dtype=np.bool_)
        runs, _ = self._where(batch.columns)  # rows on which the condition fails are the node's to report
        return runs
