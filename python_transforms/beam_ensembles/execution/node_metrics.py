"""The metrics of each node, under Beam's names for RunInference and the namespace ``<ensemble>/<node>``.

Beam counts one model a RunInference and would count a whole stage as one; so its own collector is switched off
(``override_metrics``) and every node writes its own. Metrics can only be written while a bundle is processed: what was
measured while loading waits for the next batch, and what another process measured for its answer.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from apache_beam.metrics.metric import Metrics

from beam_ensembles.execution.shadows import Comparison
from beam_ensembles.handlers.support.call_counts import Counts
from beam_ensembles.metrics import names

_LARGEST: Final = float(1 << 53)
_COUNTER: Final = "counter"
_DISTRIBUTION: Final = "distribution"

Update: TypeAlias = tuple[str, str, str, int]
"""An update of a metric: its type, namespace and name, and the increment or the new value."""


def write_metric(update: Update) -> None:
    """Updates one of Beam's metrics; call it in a thread that processes a bundle."""
    type_, namespace, name, value = update
    metric = _metric(type_, namespace, name)
    if type_ == _COUNTER:
        metric.inc(value)
    else:
        metric.update(value)


@functools.cache
def _metric(type_: str, namespace: str, name: str) -> Any:
    return getattr(Metrics, type_)(namespace, name)


def _millionths(value: float) -> int:
    """Returns a number in millionths, as runners know whole numbers only; what is too large is the largest."""
    return round(min(value * 1e6, _LARGEST))


class NodeMeter:
    """Writes the metrics of one node.

    Args:
        ensemble: Name of the ensemble.
        node: Name of the node.
        write: Takes each update.
    """

    def __init__(self, ensemble: str, node: str, write: Callable[[Update], None] = write_metric) -> None:
        self._namespace = f"{ensemble}/{node}"
        self._write = write
        self._loaded: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def loaded(self, milliseconds: int, size: int) -> None:
        """Notes how long loading took and by how many bytes the process grew meanwhile."""
        self._loaded = (milliseconds, size)

    def ran(self, rows: int, size: int, nanoseconds: int, failed: int) -> None:
        """Counts one batch: its rows, the bytes of the columns read, how long it took, how many rows failed."""
        self._count(names.NUM_INFERENCES, rows - failed)
        self._distribute(names.BATCH_SIZE, rows)
        self._distribute(names.BATCH_BYTES, size)
        self._distribute(names.BATCH_LATENCY, nanoseconds // 1_000)
        if failed:
            self._count(names.FAILED_BATCHES, 1)
            self._count(names.FAILED_ROWS, failed)
        if self._loaded is not None:
            self._write_loaded()

    def failed(self, rows: int) -> None:
        """Counts rows that failed before the node could run on them."""
        self._count(names.FAILED_ROWS, rows)

    def skipped(self, rows: int) -> None:
        """Counts rows for which the node's condition does not hold."""
        self._count(names.SKIPPED_ROWS, rows)

    def took(self, arms: Mapping[str, int]) -> None:
        """Counts the rows that took each arm of a route, ``arm_<name>``."""
        for arm, rows in arms.items():
            self._count(f"{names.ARM}{arm}", rows)

    def used(self, counts: Counts) -> None:
        """Counts what the member counted itself, ``usage_<name>``, and how long its calls of a server took."""
        for name, by in counts.counters.items():
            self._count(f"{names.USAGE}{name}", by)
        for microseconds in counts.latencies:
            self._distribute(names.CALL_LATENCY, microseconds)

    def compared(self, found: Comparison) -> None:
        """Counts the rows on which a shadow says what the node beside it says, the others, and how far it is off."""
        self._count(names.AGREEMENTS, found.agreements)
        self._count(names.DISAGREEMENTS, found.disagreements)
        if found.difference is not None and found.greatest is not None:
            self._count(names.DIFFERENCES, _millionths(found.difference))
            self._distribute(names.GREATEST_DIFFERENCE, _millionths(found.greatest))

    def _write_loaded(self) -> None:
        with self._lock:
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            self._distribute(names.LOAD_LATENCY, loaded[0])
            self._distribute(names.MODEL_BYTES, loaded[1])

    def _count(self, name: str, by: int) -> None:
        self._write((_COUNTER, self._namespace, name, by))

    def _distribute(self, name: str, value: int) -> None:
        self._write((_DISTRIBUTION, self._namespace, name, value))


class InputMeter:
    """Writes the metrics of one input that is compared with its profile.

    Args:
        ensemble: Name of the ensemble.
        column: Name of the input.
        write: Takes each update.
    """

    def __init__(self, ensemble: str, column: str, write: Callable[[Update], None] = write_metric) -> None:
        self._namespace = f"{ensemble}/{names.INPUT}{column}"
        self._write = write

    def compared(self, rows: int, *, nulls: int, out_of_range: int, unseen: int, index: float) -> None:
        """Counts a window: its rows, what of them the profile does not know, and its stability index."""
        self._count(names.COMPARED_ROWS, rows)
        self._count(names.NULL_ROWS, nulls)
        self._count(names.OUT_OF_RANGE, out_of_range)
        self._count(names.UNSEEN, unseen)
        self._write((_DISTRIBUTION, self._namespace, names.STABILITY_INDEX, _millionths(index)))

    def drifted(self) -> None:
        """Counts a window in which the input differs from its profile."""
        self._count(names.DRIFTED_WINDOWS, 1)

    def _count(self, name: str, by: int) -> None:
        if by:
            self._write((_COUNTER, self._namespace, name, by))
