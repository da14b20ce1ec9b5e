"""A served model in a pipeline: what Beam's RunInference gives with the same handler, and what it counts."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import grpc
import numpy as np
import pytest
from apache_beam.io.components.adaptive_throttler import AdaptiveThrottler
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from beam_ensembles.handlers.open_inference.address import parse_address
from beam_ensembles.handlers.open_inference.calls import OpenInferenceModelHandler, Request
from beam_ensembles.handlers.open_inference.tensors import Given
from beam_ensembles.transforms import RunEnsemble
from tests.support.open_inference import FakeServer
from tests.support.parity import assert_parity

UNAVAILABLE_FOR_LONG = 1_000


PAIRS = np.random.default_rng(0).normal(size=(20, 2))
WORDS = np.array([["a"], ["zwölf"], [""]], object)


@pytest.mark.parametrize(
    ("model", "x", "datatype", "dtype", "declared", "wanted"),
    [
        ("double", PAIRS, "FP32", np.float32, "array<double>[2]", "array<float>[2]"),
        ("half", PAIRS, "FP16", np.float16, "array<double>[2]", "array<float>[2]"),
        ("picky", np.abs(PAIRS[:, :1]), "FP64", np.float64, "double", "double"),
        ("counts", np.arange(20), "INT64", np.int64, "int64", "int64"),
        ("words", WORDS, "BYTES", object, "string", "string"),
        ("silent", PAIRS, "FP64", np.float64, "array<double>[2]", "array<double>[2]"),
    ],
)
def test_the_node_gives_what_beams_run_inference_gives(
    tmp_path: Path,
    server: FakeServer,
    model: str,
    x: np.ndarray[Any, Any],
    datatype: str,
    dtype: Any,
    declared: str,
    wanted: str,
) -> None:
    uri = server.uri(model)
    read = (lambda one: one.item().decode()) if datatype == "BYTES" else np.squeeze
    rows = [{"x": row.tolist() if "array" in declared else row.item()} for row in x]
    assert_parity(
        tmp_path,
        {"x": declared},
        {"model": "open_inference", "uri": uri, "inputs": {"x": "x"}, "outputs": {"y": wanted}},
        rows,
        OpenInferenceModelHandler(parse_address(uri), {}, 10.0, "beam"),
        [Request([Given("x", datatype, np.asarray(row).astype(dtype)[None])], ["y"]) for row in x],
        values=lambda answer: {"y": read(answer["y"][0])},
    )


def test_held_back_calls_and_failed_rows_are_counted_for_the_node(
    tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions = itertools.chain([True, True], itertools.repeat(False))
    monkeypatch.setattr(AdaptiveThrottler, "throttle_request", lambda *_: next(decisions))
    server.refusals[:] = [grpc.StatusCode.UNAVAILABLE] * UNAVAILABLE_FOR_LONG
    file = tmp_path / "remote.json"
    node = {"model": "open_inference", "uri": server.uri("picky"), "inputs": ["x"], "retries": 1}
    spec = {
        "ensemble": "remote",
        "inputs": {"x": "double"},
        "nodes": {"dense": node | {"outputs": {"y": "double"}}},
    }
    file.write_text(json.dumps(spec))
    pipeline = beam.Pipeline(runner=FnApiRunner())
    rows = pipeline | beam.Create([beam.Row(x=float(at)) for at in range(50)])
    _, errors = rows | RunEnsemble(file).with_errors()
    codes = errors | beam.Map(lambda row: (row.node, row.code)) | beam.combiners.Count.PerElement()
    codes | beam.Map(_expect)
    result = pipeline.run()
    result.wait_until_finish()
    found = result.metrics().query(MetricsFilter().with_namespace("remote/dense"))["counters"]
    counted = {counter.key.metric.name: counter.committed for counter in found}
    assert counted["failed_rows"] == 50
    assert counted["cumulativeThrottlingSeconds"] == 2


def _expect(counted: Any) -> None:
    assert counted == (("dense", "server_unreachable"), 50)
