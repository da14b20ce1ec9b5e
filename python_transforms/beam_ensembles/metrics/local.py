"""Counts what nodes measure in this thread, where no runner does. Written for Beam 2.77 (``statesampler``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from apache_beam.metrics.execution import MetricKey, MetricsContainer
from apache_beam.runners.worker import statesampler
from apache_beam.utils.counters import CounterFactory

from beam_ensembles.beam_repairs.thread_counters import counting_into
from beam_ensembles.metrics.collecting import Key, Value, collected
from beam_ensembles.metrics.values import Distribution, EnsembleMetrics

_STEP: Final = "local"


@contextlib.contextmanager
def counting() -> Iterator[Callable[[], tuple[EnsembleMetrics, ...]]]:
    """Counts what this thread measures within the block.

    Yields:
        Gives what has been counted so far, of each ensemble by name; good after the block too.
    """
    container: Any = MetricsContainer(_STEP)
    sampler: Any = statesampler.StateSampler(_STEP, CounterFactory())
    with counting_into(sampler), sampler.scoped_state(_STEP, "process", metrics_container=container):
        yield lambda: collected(_values(container))


def _values(container: Any) -> dict[Key, Value]:
    updates = container.get_cumulative()
    values: dict[Key, Value] = {_key(key): count for key, count in updates.counters.items()}
    for key, found in updates.distributions.items():
        if found.count:
            values[_key(key)] = Distribution(found.count, found.sum, found.min, found.max)
    return values


def _key(key: MetricKey) -> Key:
    return Key(key.step, key.metric.namespace, key.metric.name)
