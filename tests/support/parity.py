"""A one-node ensemble against Beam's bare RunInference with the same handler: equal values, both metered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apache_beam as beam
import numpy as np
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.transforms import RunEnsemble

MEASURED: Final = (
    "inference_request_batch_size",
    "inference_request_batch_byte_size",
    "inference_batch_latency_micro_secs",
    "load_model_latency_milli_secs",
    "model_byte_size",
)
"""Beam's names of what RunInference measures, beside the count of inferences."""


def assert_parity(
    folder: Path,
    inputs: Mapping[str, str],
    node: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    handler: Any,
    examples: Sequence[Any],
    *,
    values: Callable[[Any], Mapping[str, Any]],
) -> None:
    """Runs both over the same examples, in pipelines of Beam's in-process runner, and compares value by value.

    Args:
        folder: Where the model's files are.
        inputs: The ensemble's input columns and types.
        node: The mapping below ``nodes.node``; its outputs are compared.
        rows: The rows for the ensemble: a value for each input column.
        handler: Beam's own handler of the same model; ``KeyedModelHandler`` is put around it here.
        examples: The same rows as the handler takes them.
        values: Makes of one inference the node's output columns.
    """
    spec = {"ensemble": "parity", "inputs": dict(inputs), "nodes": {"node": dict(node)}}
    file = folder / "parity.json"
    file.write_text(json.dumps(spec), encoding="utf-8")
    ours = _ours(file, rows, list(node["outputs"]))
    beams = _beams(handler, examples, values)
    assert ours.keys() == beams.keys()
    for at, wanted in beams.items():
        for name, value in wanted.items():
            np.testing.assert_array_equal(
                np.asarray(ours[at][name]), np.asarray(value), err_msg=f"row {at}, {name}"
            )


def _ours(file: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    keyed = [beam.Row(at=at, **row) for at, row in enumerate(rows)]
    take = lambda row: (row.at, {name: getattr(row, name) for name in columns})  # noqa: E731
    metrics = _run(lambda p: p | beam.Create(keyed) | RunEnsemble(file) | beam.Map(take), found)
    _check_metrics(metrics, "parity/node", len(rows))
    return found


def _beams(
    handler: Any, examples: Sequence[Any], values: Callable[[Any], Mapping[str, Any]]
) -> dict[int, Mapping[str, Any]]:
    base = inference_imports.import_base()
    found: dict[int, Mapping[str, Any]] = {}
    run = base.RunInference(base.KeyedModelHandler(handler), metrics_namespace="beam")
    take = lambda pair: (pair[0], values(pair[1].inference))  # noqa: E731
    metrics = _run(lambda p: p | beam.Create(list(enumerate(examples))) | run | beam.Map(take), found)
    _check_metrics(metrics, "beam", len(examples))
    return found


def _run(build: Callable[[beam.Pipeline], Any], found: dict[int, Any]) -> Any:
    """Runs a pipeline of pairs in this process, and collects them."""
    token = _Collected.open(found)
    pipeline = beam.Pipeline(runner=FnApiRunner())
    build(pipeline) | beam.Map(_Collected(token))
    result = pipeline.run()
    result.wait_until_finish()
    return result.metrics()


class _Collected:
    """Puts pairs into a dictionary of this process: the in-process runner pickles functions, but not what they find."""

    places: dict[int, dict[int, Any]] = {}  # noqa: RUF012 - shared by all on purpose

    def __init__(self, token: int) -> None:
        self._token = token

    @classmethod
    def open(cls, place: dict[int, Any]) -> int:
        """Creates a place known."""
        cls.places[id(place)] = place
        return id(place)

    def __call__(self, pair: tuple[int, Any]) -> None:
        from tests.support.parity import _Collected as Known

        Known.places[self._token][pair[0]] = pair[1]


def _check_metrics(metrics: Any, namespace: str, count: int) -> None:
    found = metrics.query(MetricsFilter().with_namespace(namespace))
    counters = {metric.key.metric.name: metric.committed for metric in found["counters"]}
    measured = {metric.key.metric.name for metric in found["distributions"]}
    assert counters["num_inferences"] == count, (namespace, counters)
    assert measured >= set(MEASURED), (namespace, measured)
