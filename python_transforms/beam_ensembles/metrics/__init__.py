"""Reads back what the nodes of a job have counted, from whatever runner it ran on."""

from beam_ensembles.metrics.pipeline_result import ensemble_metrics
from beam_ensembles.metrics.values import Distribution, EnsembleMetrics, InputMetrics, NodeMetrics

__all__ = ["Distribution", "EnsembleMetrics", "InputMetrics", "NodeMetrics", "ensemble_metrics"]
