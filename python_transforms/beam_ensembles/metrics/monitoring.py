"""Beam's ``MonitoringInfo``s, which portable runners answer with."""

from __future__ import annotations

from apache_beam.metrics import monitoring_infos
from apache_beam.portability.api import beam_job_api_pb2, metrics_pb2

from beam_ensembles.metrics.collecting import Key, Value, collected
from beam_ensembles.metrics.values import Distribution, EnsembleMetrics


def of_response(response: beam_job_api_pb2.GetJobMetricsResponse) -> tuple[EnsembleMetrics, ...]:
    """Returns the metrics of the ensembles of a job, by name.

    Args:
        response: Prism commits, Flink only attempts.

    Raises:
        ValueError: A value is not what its kind of metric has.
    """
    values: dict[Key, Value] = {}
    for info in (*response.metrics.attempted, *response.metrics.committed):
        try:
            value = _value(info)
            if value is not None:
                values[_key(info)] = value
        except Exception as error:  # what Beam's coders raise on bytes that are no such value is their own
            raise ValueError("a metric that cannot be read") from error
    return collected(values)


def _key(info: metrics_pb2.MonitoringInfo) -> Key:
    namespace, name = monitoring_infos.parse_namespace_and_name(info)
    return Key(info.labels.get(monitoring_infos.PTRANSFORM_LABEL, ""), namespace, name)


def _value(info: metrics_pb2.MonitoringInfo) -> Value | None:
    if info.urn == monitoring_infos.USER_COUNTER_URN:
        return int(monitoring_infos.extract_counter_value(info))
    if info.urn == monitoring_infos.USER_DISTRIBUTION_URN:
        count, total, smallest, largest = monitoring_infos.extract_distribution(info)
        return Distribution(count, total, smallest, largest) if count else None
    return None
