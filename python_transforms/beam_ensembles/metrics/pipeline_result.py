"""The metrics of the ensembles of a Python pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from beam_ensembles.metrics.collecting import Key, Value, collected
from beam_ensembles.metrics.values import Distribution, EnsembleMetrics

if TYPE_CHECKING:
    from apache_beam.runners.runner import PipelineResult


def ensemble_metrics(result: PipelineResult) -> tuple[EnsembleMetrics, ...]:
    """Returns the metrics of the ensembles of a pipeline, by name: what their nodes have counted.

    Each prints as a table.

    Args:
        result: What running the pipeline gave; most runners know its metrics once it has finished.
    """
    found = result.metrics().query()
    counters, distributions = found["counters"], found["distributions"]
    values: dict[Key, Value] = {_key(one): _settled(one) for one in counters}
    values |= _distributions(distributions)
    return collected(values)


def _distributions(found: Iterable[Any]) -> dict[Key, Value]:
    return {
        _key(one): Distribution(value.count, value.sum, value.min, value.max)
        for one in found
        if (value := _settled(one)).count
    }


def _key(found: Any) -> Key:
    return Key(found.key.step, found.key.metric.namespace, found.key.metric.name)


def _settled(found: Any) -> Any:
    """Returns the committed value where the runner knows one."""
    return found.attempted if found.committed is None else found.committed
