"""Rows that a node runs on wait for those of other bundles, until they fill a batch or one has waited long enough.

Beam's ``GroupIntoBatches`` counts elements, not the rows in them, gives each worker keys of its own, and holds the
watermark at the element that came first, not at the oldest one.

Here the watermark is held at the oldest row that waits, so that none gets late. The timer in processing time does it:
Beam Python 2.77 lets such a timer hold at the time of the element that sets it (``OutputTimer``; a timer in event time
holds where it fires), so only an element older than all that wait may set it. Clearing it ends the hold; Prism 2.77
takes that for setting it to 1970, so that it fires once more, with nothing to do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import apache_beam as beam
from apache_beam.coders import TupleCoder, VarIntCoder
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import BagStateSpec, ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import create

from beam_ensembles.runtime.batch_coder import BatchCoder
from beam_ensembles.runtime.between_stages import InFlight
from beam_ensembles.runtime.fuller_batches import WaitingRows

_SECOND: Final = 1_000_000

_PARTS: Final = BagStateSpec("parts", BatchCoder())
_WAITING: Final = ReadModifyWriteStateSpec(
    "waiting", TupleCoder((VarIntCoder(), VarIntCoder(), VarIntCoder()))
)
"""Rows that wait, the event time of the oldest, and when they are due; times in microseconds."""
_DUE: Final = TimerSpec("due", TimeDomain.REAL_TIME)
_END: Final = TimerSpec("end", TimeDomain.WATERMARK)

_parts, _waiting = beam.DoFn.StateParam(_PARTS), beam.DoFn.StateParam(_WAITING)
_due, _end = beam.DoFn.TimerParam(_DUE), beam.DoFn.TimerParam(_END)


class WaitForMore(beam.DoFn):
    """Puts the batches of a key together to full ones, window by window; those that come are smaller than that.

    Rows wait until there are enough, until the first of them has waited for ``max_wait``, or until their window ends.

    Args:
        size: Rows a batch.
        max_wait: Seconds.
    """

    def __init__(self, size: int, max_wait: float) -> None:
        self._size = size
        self._wait = round(max_wait * _SECOND)

    def process(
        self,
        keyed: tuple[str, InFlight],
        timestamp: Any = beam.DoFn.TimestampParam,
        window: Any = beam.DoFn.WindowParam,
        parts: Any = _parts,
        waiting: Any = _waiting,
        due: Any = _due,
        end: Any = _end,
    ) -> Iterator[Any]:
        _, batch = keyed
        micros, found = timestamp.micros, waiting.read()
        if found is None:
            end.set(window.max_timestamp())
        rows, oldest, until = found or (0, micros, _now() + self._wait)
        if rows + len(batch) < self._size:
            parts.add(batch.timed(micros))
            waiting.write((rows + len(batch), min(oldest, micros), until))
            if found is None or micros < oldest:
                due.set(Timestamp(micros=until))
            return
        full = _all(parts, oldest)
        full.add(batch, micros)
        parts.clear()
        while full.rows >= self._size:
            yield _windowed(full.take(self._size), window)
        if full.rows:  # they came with this batch: those before it were fewer than are taken at a time
            rest, _ = full.take(full.rows)
            until = _now() + self._wait
            parts.add(rest.timed(micros))
            waiting.write((len(rest), micros, until))
            due.set(Timestamp(micros=until))
        else:
            waiting.clear()
            end.clear()
            due.clear()

    @on_timer(_DUE)
    def on_due(
        self,
        window: Any = beam.DoFn.WindowParam,
        parts: Any = _parts,
        waiting: Any = _waiting,
        end: Any = _end,
    ) -> Iterator[Any]:
        found = waiting.read()
        if found is not None:
            yield _windowed(_taken(parts, waiting, found), window)
            end.clear()

    @on_timer(_END)
    def on_end(
        self,
        window: Any = beam.DoFn.WindowParam,
        parts: Any = _parts,
        waiting: Any = _waiting,
        due: Any = _due,
    ) -> Iterator[Any]:
        found = waiting.read()
        if found is not None:
            yield _windowed(_taken(parts, waiting, found), window)
            due.clear()


def _all(parts: Any, oldest: int) -> WaitingRows:
    found = WaitingRows()
    for part in parts.read():
        found.add(part, oldest)
    return found


def _taken(parts: Any, waiting: Any, found: tuple[int, int, int]) -> tuple[InFlight, int]:
    _, oldest, _ = found
    rows = _all(parts, oldest)
    parts.clear()
    waiting.clear()
    return rows.take(rows.rows)


def _windowed(taken: tuple[InFlight, int], window: Any) -> Any:
    batch, micros = taken
    return create(batch, micros, (window,))


def _now() -> int:
    return time.time_ns() // 1_000
