"""Rates, time, memory and cost of a cluster, from what the nodes of a small run have counted.

A worker's time for a row is the sum of its nodes' times (``inference_batch_latency_micro_secs``) and of what it spends
around them: reading rows, and writing them. Workers do not wait for each other, so rates add up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import EnsembleError, listed
from beam_ensembles.messages.printable import printable
from beam_ensembles.metrics import names

AROUND_MICROS: Final = 6.0
"""Microseconds that a worker spends on a row from Python around its nodes (docs/explanation/performance.md)."""
_HOUR: Final = 3_600.0


@dataclasses.dataclass(frozen=True)
class NodeCost:
    """What a node costs.

    Attributes:
        node: Name of the node.
        seconds_per_row: Seconds per row of the ensemble, also of rows that the node skipped.
        rows_per_batch: Rows of a batch that it ran on, on average; 0 where it never ran.
        load_seconds: Seconds to load it, on average.
        model_bytes: Bytes by which a worker's memory grew meanwhile, at most.
    """

    node: str
    seconds_per_row: float
    rows_per_batch: float
    load_seconds: float
    model_bytes: int


@dataclasses.dataclass(frozen=True)
class Capacity:
    """What a number of workers can do.

    Attributes:
        ensemble: Name of the ensemble.
        measured_rows: Rows that the run has scored from which this is worked out.
        nodes: The nodes, the most expensive first.
        around_seconds: Seconds per row that a worker spends around its nodes.
        workers: How many workers there are.
        rows: How many rows they shall score, or None.
        price: What a worker costs an hour, or None.
    """

    ensemble: str
    measured_rows: int
    nodes: Sequence[NodeCost]
    around_seconds: float
    workers: int = 1
    rows: int | None = None
    price: float | None = None

    @property
    def seconds_per_row(self) -> float:
        """Seconds of one worker for a row."""
        return self.around_seconds + sum(node.seconds_per_row for node in self.nodes)

    @property
    def rows_per_second(self) -> float:
        """Rows per second of all workers together, once they have loaded the models."""
        return self.workers / self.seconds_per_row

    @property
    def load_seconds(self) -> float:
        """Seconds until a worker has loaded all nodes."""
        return sum(node.load_seconds for node in self.nodes)

    @property
    def model_bytes(self) -> int:
        """Bytes of memory that a worker needs for models, beside Python and the libraries."""
        return sum(node.model_bytes for node in self.nodes)

    @property
    def seconds(self) -> float | None:
        """Seconds from the start of the workers' loading to the last row; None where no number of rows is given."""
        return None if self.rows is None else self.load_seconds + self.rows / self.rows_per_second

    @property
    def cost(self) -> float | None:
        """The price of all workers for that time, in the unit of ``price``."""
        if self.seconds is None or self.price is None:
            return None
        return self.workers * self.seconds / _HOUR * self.price

    def as_data(self) -> dict[str, Any]:
        """Returns it as plain data, for JSON."""
        worked_out = ("seconds_per_row", "rows_per_second", "load_seconds", "model_bytes", "seconds", "cost")
        return dataclasses.asdict(self) | {name: getattr(self, name) for name in worked_out}


def capacity_of(
    data: Any,
    ensemble: str,
    *,
    workers: int = 1,
    rows: int | None = None,
    price: float | None = None,
    around_micros: float = AROUND_MICROS,
) -> Capacity:
    """Works out what a number of workers can do.

    Args:
        data: What ``beam-ensembles metrics --json`` or ``run --metrics --json`` printed of a run, parsed.
        ensemble: Name of the ensemble.
        workers: How many workers there will be, each like the one of that run.
        rows: How many rows they shall score.
        price: What a worker costs an hour.
        around_micros: Microseconds that a worker spends on a row around its nodes.

    Raises:
        EnsembleError: The data are no metrics, are of another ensemble, or nothing was measured.
    """
    nodes = _nodes_of(data, ensemble)
    try:
        measured = max((_rows_of(node) for node in nodes), default=0)
        if not measured:
            raise EnsembleError(f"the metrics of ensemble '{ensemble}' are of a run that scored no row")
        costs = [_cost_of(node, measured) for node in nodes]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _no_metrics() from error
    costs.sort(key=lambda one: -one.seconds_per_row)
    return Capacity(ensemble, measured, costs, around_micros / 1e6, workers, rows, price)


def _nodes_of(data: Any, ensemble: str) -> Sequence[Mapping[str, Any]]:
    found = data.get("ensembles", data.get("metrics")) if isinstance(data, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise _no_metrics()
    nodes = next((one.get("nodes") for one in found if one.get("ensemble") == ensemble), None)
    if nodes is None:
        others = listed([f"'{printable(str(one.get('ensemble')))}'" for one in found])
        has = f"of {others}" if found else "of no ensemble"
        raise EnsembleError(f"the metrics are {has}, not of '{ensemble}'")
    if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
        raise _no_metrics()
    return nodes


def _no_metrics() -> EnsembleError:
    return EnsembleError(
        "expected what 'beam-ensembles metrics --job ID --json' or 'beam-ensembles run --metrics --json' prints"
    )


def _rows_of(node: Mapping[str, Any]) -> int:
    return sum(int(node[name]) for name in (names.NUM_INFERENCES, names.FAILED_ROWS, names.SKIPPED_ROWS))


def _cost_of(node: Mapping[str, Any], rows: int) -> NodeCost:
    latency, batch = node[names.BATCH_LATENCY] or {}, node[names.BATCH_SIZE] or {}
    load, size = node[names.LOAD_LATENCY] or {}, node[names.MODEL_BYTES] or {}
    return NodeCost(
        node=str(node["node"]),
        seconds_per_row=float(latency.get("sum", 0)) / 1e6 / rows,
        rows_per_batch=float(batch.get("mean", 0.0)),
        load_seconds=float(load.get("mean", 0.0)) / 1e3,
        model_bytes=int(size.get("max", 0)),
    )
