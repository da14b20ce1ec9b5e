"""What one call of a model gets at most, and what rows are put together to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import numpy as np
import pytest
from apache_beam.testing.util import assert_that, equal_to
from sklearn.linear_model import LinearRegression

from beam_ensembles.columns.batch import size_of
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.handlers.support.beam_config import call_limit
from beam_ensembles.registry import KINDS
from beam_ensembles.transforms import RunEnsemble


def sizes(folder: Path, batch: str, rows: int) -> Any:
    """Returns the metric of the batches of a model that got so many rows of one bundle."""
    model = LinearRegression().fit(np.arange(8.0).reshape(2, 4), [0.0, 1.0])
    joblib.dump(model, folder / "line.joblib")
    node = f"{{model: sklearn, uri: line.joblib, batch: {batch}, inputs: [x], outputs: {{y: double}}}}"
    (folder / "e.yaml").write_text(
        f'ensemble: e\ninputs: {{x: "array<double>[4]"}}\nnodes:\n  line: {node}\n'
    )
    pipeline = beam.Pipeline()
    given = pipeline | beam.Create([beam.Row(x=[1.0, 2.0, 3.0, 4.0])] * rows, reshuffle=False)
    counted = given | RunEnsemble(folder / "e.yaml") | beam.combiners.Count.Globally()
    assert_that(counted, equal_to([rows]))
    result = pipeline.run()
    result.wait_until_finish()
    found = {one.key.metric.name: one.committed for one in result.metrics().query()["distributions"]}
    return found["inference_request_batch_size"]


@pytest.mark.parametrize(
    ("batch", "least", "most"),
    [("{min: 3000}", 1_000, 3_000), ("{min: 500}", 904, 1_024), ("{max: 10}", 904, 1_024)],
)
def test_rows_are_put_together(tmp_path: Path, batch: str, least: int, most: int) -> None:
    found = sizes(tmp_path, batch, 4_000 - 24 * (batch != "{min: 3000}"))
    assert (found.min, found.max) == (least, most)


def test_bytes_of_columns() -> None:
    assert size_of(np.zeros((3, 4))) == 96
    texts = np.array(["ab", b"cde", ["f", "gh"], {"i": 1.0}, None], dtype=object)
    assert size_of(texts) == 2 + 3 + 3 + (1 + 8) + 8


@pytest.mark.parametrize(
    ("model", "batch", "limit"),
    [
        ("open_inference", {}, 4_096),
        ("open_inference", {"max": 10}, 10),
        ("open_inference", {"max": 9_000}, 9_000),
        ("open_inference", {"min": 6_000}, 6_000),
        ("sklearn", {}, None),
        ("sklearn", {"max": 10}, 10),
    ],
)
def test_rows_of_a_call(tmp_path: Path, model: str, batch: dict[str, int], limit: int | None) -> None:
    joblib.dump(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "m.joblib")
    uri = {"open_inference": "grpc://localhost:1/m", "sklearn": "m.joblib"}[model]
    inputs = {"open_inference": {"a": "x"}, "sklearn": ["x"]}[model]
    node = {"model": model, "uri": uri, "inputs": inputs, "outputs": {"y": "double"}, "batch": batch}
    file = {"ensemble": "e", "inputs": {"x": "double"}, "nodes": {"n": node}}
    graph = check_text(json.dumps(file), KINDS, Files(str(tmp_path), (str(tmp_path),), hosts=("localhost",)))
    assert [call_limit(node) for node in graph.nodes] == [limit]


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({"concurrency": 8}, 1_024),
        ({"concurrency": 64}, 4_096),  # the slowest call of a batch holds up 64 calls of each place, not 16
        ({"concurrency": 256}, 8_192),
        ({"concurrency": 64, "batch": {"max": 10}}, 10),
        ({"concurrency": 64, "inputs": ["ticket", "picture"]}, 1_024),
        ({"model": "embed", "concurrency": 2}, 8_192),
        ({"model": "embed", "concurrency": 2, "together": 16}, 4_096),
    ],
)
def test_a_batch_has_many_calls_for_each_that_is_under_way(more: dict[str, Any], limit: int) -> None:
    node = {"model": "chat", "url": "http://localhost/v1", "name": "m", "inputs": ["ticket"], **more}
    if node["model"] == "chat":
        parts = ["{ticket}", *([{"image": "picture"}] if "picture" in node["inputs"] else [])]
        messages = [{"role": "user", "content": parts}]
        node |= {"messages": messages, "text": True, "outputs": {"said": {}}}
    else:
        node |= {"outputs": {"vector": "array<float>[2]"}}
    file = {"ensemble": "e", "inputs": {"ticket": "string", "picture": "bytes"}, "nodes": {"n": node}}
    graph = check_text(json.dumps(file), KINDS, Files(hosts=ANYTHING, is_own=True))
    assert [call_limit(node) for node in graph.nodes] == [limit]


@pytest.mark.parametrize(("concurrency", "size"), [(8, 1_024), (20, 1_280)])
def test_rows_that_a_language_model_gets_together(tmp_path: Path, concurrency: int, size: int) -> None:
    (tmp_path / "e.json").write_text(
        json.dumps(
            {
                "ensemble": "e",
                "inputs": {"ticket": "string"},
                "nodes": {
                    "n": {
                        "model": "chat",
                        "url": "http://localhost:1/v1",
                        "name": "m",
                        "concurrency": concurrency,
                        "retries": 0,
                        "messages": [{"role": "user", "content": "{ticket}"}],
                        "text": True,
                        "on_error": "nullify",
                        "inputs": ["ticket"],
                        "outputs": {"said": "string?"},
                    }
                },
            }
        )
    )
    pipeline = beam.Pipeline()
    given = pipeline | beam.Create([beam.Row(ticket=str(at)) for at in range(2 * size)], reshuffle=False)
    _ = given | RunEnsemble(tmp_path / "e.json")
    result = pipeline.run()
    result.wait_until_finish()
    found = {one.key.metric.name: one.committed for one in result.metrics().query()["distributions"]}
    assert (found["inference_request_batch_size"].min, found["inference_request_batch_size"].max) == (
        size,
        size,
    )
