"""The metrics of each node, under Beam's names for RunInference and the namespace ``<ensemble>/<node>``.

Beam counts one model a RunInference and would count a whole stage as one; so its own collector is switched off
(``override_metrics``) and every node writes its own. Metrics can only be written while a bundle is processed: what was
measured while loading waits for the next batch.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterable

from apache_beam.metrics.metric import Metrics

from beam_ensembles.graph.kinds import Columns
from beam_ensembles.metrics import names


class NodeMeter:
    """Writes the metrics of one node.

    Args:
        ensemble: Name of the ensemble.
        node: Name of the node.
    """

    def __init__(self, ensemble: str, node: str) -> None:
        namespace = f"{ensemble}/{node}"
        self._inferences = Metrics.counter(namespace, names.NUM_INFERENCES)
        self._failed_batches = Metrics.counter(namespace, names.FAILED_BATCHES)
        self._failed_rows = Metrics.counter(namespace, names.FAILED_ROWS)
        self._skipped_rows = Metrics.counter(namespace, names.SKIPPED_ROWS)
        self._agreements = Metrics.counter(namespace, names.AGREEMENTS)
        self._disagreements = Metrics.counter(namespace, names.DISAGREEMENTS)
        self._batch_size = Metrics.distribution(namespace, names.BATCH_SIZE)
        self._batch_bytes = Metrics.distribution(namespace, names.BATCH_BYTES)
        self._latency = Metrics.distribution(namespace, names.BATCH_LATENCY)
        self._load_latency = Metrics.distribution(namespace, names.LOAD_LATENCY)
        self._model_bytes = Metrics.distribution(namespace, names.MODEL_BYTES)
        self._namespace = namespace
        self._loaded: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def loaded(self, milliseconds: int, size: int) -> None:
        """Notes how long loading took and by how many bytes the process grew meanwhile."""
        self._loaded = (milliseconds, size)

    def ran(self, rows: int, columns: Columns, nanoseconds: int, failed: int) -> None:
        """Counts one batch: its rows, the bytes of the columns read, how long it took, how many rows failed."""
        self._inferences.inc(rows - failed)
        self._batch_size.update(rows)
        self._batch_bytes.update(sum(values.nbytes for values in columns.values()))
        self._latency.update(nanoseconds // 1_000)
        if failed:
            self._failed_batches.inc()
            self._failed_rows.inc(failed)
        if self._loaded is not None:
            self._write_loaded()

    def failed(self, rows: int) -> None:
        """Counts rows that failed before the node could run on them."""
        self._failed_rows.inc(rows)

    def skipped(self, rows: int) -> None:
        """Counts rows for which the node's condition does not hold."""
        self._skipped_rows.inc(rows)

    def took(self, arms: Iterable[str]) -> None:
        """Counts the rows that took each arm of a route, ``arm_<name>``."""
        for arm, rows in collections.Counter(arms).items():
            Metrics.counter(self._namespace, f"{names.ARM}{arm}").inc(rows)

    def compared(self, agreements: int, disagreements: int) -> None:
        """Counts the rows on which a shadow says what the node beside it says, and the others."""
        self._agreements.inc(agreements)
        self._disagreements.inc(disagreements)

    def _write_loaded(self) -> None:
        with self._lock:
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            self._load_latency.update(loaded[0])
            self._model_bytes.update(loaded[1])
