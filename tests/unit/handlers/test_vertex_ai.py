"""Endpoints of Vertex AI behind Beam's own handler, with a stand-in for Google's client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from apache_beam.utils import retry
from google.api_core import exceptions as api
from google.auth.exceptions import DefaultCredentialsError

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import BatchFailed, InvalidEnsemble, NodeError
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode, Member
from beam_ensembles.registry import KINDS
from tests.support import vertex_ai
from tests.support.parity import assert_parity
from tests.support.vertex_ai import FakeEndpoint, total

PAIR = {"x": "array<double>[2]"}
QUIET = {"window_ms": 1, "bucket_ms": 1}
"""Beam holds calls back for whole seconds while many fail; so it looks back one millisecond only."""


def node(**more: Any) -> dict[str, Any]:
    own = {"model": "vertex_ai", "endpoint": "123", "project": "my-project", "location": "us-central1"}
    return own | {"inputs": ["x"], "outputs": {"y": "double"}, "config": QUIET} | more


def check(inputs: dict[str, str], node: dict[str, Any], *hosts: str) -> CheckedNode:
    text = json.dumps({"ensemble": "test", "inputs": inputs, "nodes": {"node": node}})
    (checked,) = check_text(text, KINDS, Files("/", hosts=hosts, code=("env:GOOGLE_*",))).nodes
    return checked


def load(inputs: dict[str, str], node: dict[str, Any]) -> Member:
    return KINDS["model", "vertex_ai"].load(check(inputs, node, "*.googleapis.com"))


def problems_of(inputs: dict[str, str], node: dict[str, Any], *hosts: str) -> list[tuple[str, str]]:
    with pytest.raises(InvalidEnsemble) as caught:
        check(inputs, node, *hosts)
    return [(problem.code, problem.path.removeprefix("nodes.node.")) for problem in caught.value.problems]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    return vertex_ai.install(monkeypatch, total)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long Beam would have waited between attempts."""
    found: list[float] = []
    monkeypatch.setattr(retry.Clock, "sleep", lambda _, seconds: found.append(seconds))
    return found


def test_all_rows_are_one_request_of_one_instance_each(endpoint: FakeEndpoint) -> None:
    answer = load(PAIR, node(inference_args={"top": 1}, timeout=2.5))({"x": np.array([[1.0, 2], [3, 4]])})
    assert answer["y"].tolist() == [3, 7]
    assert endpoint.calls == [[[1.0, 2.0], [3.0, 4.0]]]
    assert endpoint.parameters == {"top": 1}
    assert endpoint.timeouts == [2.5]
    assert endpoint.project["project"] == "my-project"
    assert endpoint.made == {"endpoint_name": "123", "location": "us-central1", "kind": "public"}


def test_a_private_endpoint_and_a_route_of_its_own(endpoint: FakeEndpoint) -> None:
    config = {"network": "projects/1/global/networks/inner", "invoke_route": "/v1/sum", **QUIET}
    member = load(PAIR, node(private=True, config=config))
    assert member({"x": np.array([[1.0, 2], [3, 4]])})["y"].tolist() == [3, 7]
    assert endpoint.made["kind"] == "private"
    assert endpoint.project["network"] == "projects/1/global/networks/inner"
    assert endpoint.routes == ["/v1/sum"]


@pytest.mark.parametrize(
    ("inputs", "listed", "columns", "instances"),
    [
        ({"a": "double"}, ["a"], {"a": np.array([1.0])}, [[1.0]]),
        ({"a": "double", "b": "int32"}, ["b", "a"], {"a": np.array([1.5]), "b": np.array([2], np.int32)}, [[2, 1.5]]),
        ({"a": "string"}, ["a"], {"a": np.array(["hi"], object)}, ["hi"]),
        ({"a": "bytes"}, ["a"], {"a": np.array([b"\x00\xff"], object)}, [{"b64": "AP8="}]),
        ({"a": "string", "b": "boolean"}, {"p": "a", "q": "b"}, {"a": np.array(["x"], object), "b": np.array([True])},
         [{"p": "x", "q": True}]),
        ({"a": "array<float>[2,1]"}, {"p": "a"}, {"a": np.ones((1, 2, 1), np.float32)}, [{"p": [[1.0], [1.0]]}]),
    ],
)  # fmt: skip
def test_rows_are_written_as_json(
    endpoint: FakeEndpoint, inputs: dict[str, str], listed: Any, columns: dict[str, Any], instances: list[Any]
) -> None:
    endpoint.model = lambda given, _: [1.0] * len(given)
    load(inputs, node(inputs=listed))(columns)
    assert endpoint.calls == [instances]


def test_lists_and_rows_are_written_as_json(endpoint: FakeEndpoint) -> None:
    endpoint.model = lambda given, _: [1.0] * len(given)
    column = np.empty(1, object)
    column[0] = [{"name": "a", "data": b"\xff"}]
    load({"a": "array<row<name: string, data: bytes>>"}, node(inputs={"p": "a"}))({"a": column})
    assert endpoint.calls == [[{"p": [{"name": "a", "data": {"b64": "/w=="}}]}]]


@pytest.mark.parametrize(
    ("prediction", "outputs", "wanted"),
    [
        (2.5, {"y": "double"}, {"y": 2.5}),
        ([3.0], {"y": "int64"}, {"y": 3}),
        ([1.0, 2.0], {"y": "array<int32>[2]"}, {"y": [1, 2]}),
        ([[1.0], [2.0]], {"y": "array<array<int32>>"}, {"y": [[1], [2]]}),
        ({"label": "a", "score": 0.5}, {"label": "string", "p": {"from": "score", "type": "double"}},
         {"label": "a", "p": 0.5}),
        ({"only": 1.0}, {"y": "double"}, {"y": 1.0}),
        ({"n": 1.0, "s": "a"}, {"y": "row<n: int64, s: string>"}, {"y": {"n": 1, "s": "a"}}),
    ],
)  # fmt: skip
def test_predictions_are_read_as_declared(
    endpoint: FakeEndpoint, prediction: Any, outputs: dict[str, Any], wanted: dict[str, Any]
) -> None:
    endpoint.model = lambda given, _: [prediction] * len(given)
    answer = load(PAIR, node(outputs=outputs))({"x": np.ones((2, 2))})
    assert {name: values.tolist()[1] for name, values in answer.items()} == wanted


@pytest.mark.parametrize(
    ("prediction", "code"),
    [(2.5, "bad_output"), ("text", "bad_output"), ({"a": 1.0, "b": 2.0}, "bad_output")],
)
def test_predictions_of_another_kind_are_refused(endpoint: FakeEndpoint, prediction: Any, code: str) -> None:
    endpoint.model = lambda given, _: [prediction] * len(given)
    with pytest.raises(NodeError) as caught:
        load(PAIR, node(outputs={"y": "int64"}))({"x": np.ones((1, 2))})
    assert caught.value.code == code


@pytest.mark.parametrize("config", [{}, {"invoke_route": "/v1/sum"}])
def test_more_or_fewer_predictions_than_rows_are_refused(
    endpoint: FakeEndpoint, config: dict[str, Any]
) -> None:
    endpoint.model = lambda given, _: [1.0] * (len(given) + 1)
    with pytest.raises(NodeError, match="3 predictions for 2 rows") as caught:
        load(PAIR, node(config=QUIET | config))({"x": np.ones((2, 2))})
    assert caught.value.code == "misaligned"


def test_beam_tries_again_what_may_pass(endpoint: FakeEndpoint, waits: list[float]) -> None:
    endpoint.failures[:] = [api.TooManyRequests("slow down"), api.ServiceUnavailable("away")]
    assert load(PAIR, node())({"x": np.array([[1.0, 2]])})["y"].tolist() == [3]
    assert len(endpoint.calls) == 3
    assert [2.5 <= waits[0] <= 5, 5 <= waits[1] <= 10] == [True, True]


def test_an_endpoint_that_stays_away_fails_the_batch_at_once(
    endpoint: FakeEndpoint, waits: list[float]
) -> None:
    endpoint.failures[:] = [api.ServiceUnavailable("away")] * 100
    _, faults = run_split(load(PAIR, node(retries=1)), {"x": np.ones((1000, 2))}, 1000)
    assert (len(endpoint.calls), len(waits), len(faults)) == (2, 1, 1000)
    assert {(type(error), error.code) for error in faults.values()} == {(BatchFailed, "server_unreachable")}


@pytest.mark.parametrize(
    "error", [api.Forbidden("no"), api.NotFound("no"), DefaultCredentialsError("who are you?")]
)
def test_an_endpoint_that_is_not_ours_fails_the_batch_at_once(
    endpoint: FakeEndpoint, error: Exception
) -> None:
    endpoint.failures[:] = [error] * 100
    _, faults = run_split(load(PAIR, node()), {"x": np.ones((10, 2))}, 10)
    assert len(endpoint.calls) == 1
    assert {error.code for error in faults.values()} == {"server_refused"}


@pytest.mark.parametrize("config", [{}, {"invoke_route": "/v1/sum"}])
def test_a_row_that_the_endpoint_refuses_is_found(endpoint: FakeEndpoint, config: dict[str, Any]) -> None:
    def picky(instances: list[Any], parameters: Any) -> list[Any]:
        if any(one[0] < 0 for one in instances):
            raise api.InvalidArgument("a negative number")
        return total(instances, parameters)

    endpoint.model = picky
    x = np.ones((100, 2))
    x[42, 0] = -1
    hours = {"throttle_delay_secs": 3600} | config  # no call is held back for it
    outputs, faults = run_split(load(PAIR, node(config=hours)), {"x": x}, 100)
    assert [(at, error.code) for at, error in faults.items()] == [(42, "model_error")]
    assert outputs["y"].tolist() == [2.0] * 99


def test_threads_do_not_throttle_each_other(endpoint: FakeEndpoint) -> None:
    member: Any = load(PAIR, node(config={"throttle_delay_secs": 3600}))
    batches = [{"x": np.full((3, 2), float(at))} for at in range(32)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(member, batches))
    assert [answer["y"][0] for answer in answers] == [2.0 * at for at in range(32)]


def test_an_endpoint_without_a_model_is_said_when_it_is_loaded(endpoint: FakeEndpoint) -> None:
    endpoint.deployed = 0
    with pytest.raises(InvalidEnsemble) as caught:
        load(PAIR, node())
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [
        ("load_failed", "nodes.node.endpoint")
    ]


def test_environment_variables_are_set_before_google_looks_for_them(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "before")
    config = QUIET | {"env_vars": {"GOOGLE_APPLICATION_CREDENTIALS": "/secret.json"}, "max_batch_size": 2}
    load(PAIR, node(config=config))
    assert os.environ["GOOGLE_APPLICATION_CREDENTIALS"] == "/secret.json"


def shouted(instances: list[Any], _: Any) -> list[Any]:
    return [one.upper() for one in instances]


def described(instances: list[Any], _: Any) -> list[Any]:
    return [{"y": one["x"] > 0, "sizes": [one["x"], 2 * one["x"]]} for one in instances]


@pytest.mark.parametrize(
    ("model", "inputs", "more", "values"),
    [
        (total, PAIR, {}, np.random.default_rng(0).normal(size=(20, 2)).tolist()),
        (total, {"x": "array<int64>[3]"}, {"outputs": {"y": "float"}}, [[1, 2, 3], [4, 5, 6]]),
        (shouted, {"x": "string"}, {"outputs": {"y": "string"}}, ["a", "zwölf", ""]),
        (
            described,
            {"x": "int64"},
            {"inputs": {"x": "x"}, "outputs": {"y": "boolean", "sizes": "array<int64>"}},
            [1, -2, 3],
        ),
    ],
)
def test_the_node_gives_what_beams_run_inference_gives(
    tmp_path: Path,
    endpoint: FakeEndpoint,
    model: Any,
    inputs: dict[str, str],
    more: dict[str, Any],
    values: list[Any],
) -> None:
    endpoint.model = model
    beam = inference_imports.import_handlers("vertex_ai_inference")
    assert_parity(
        tmp_path,
        inputs,
        node(**more),
        [{"x": value} for value in values],
        beam.VertexAIModelHandlerJSON("123", "my-project", "us-central1"),
        [{"x": value} for value in values] if model is described else values,
        values=lambda inference: inference if isinstance(inference, dict) else {"y": inference},
    )


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"endpoint": "mine"}, ("bad_value", "endpoint")),
        ({"endpoint": 123}, ("wrong_type", "endpoint")),
        ({"project": "My Project"}, ("bad_value", "project")),
        ({"location": "evil.com/"}, ("bad_value", "location")),
        ({"private": True}, ("missing_key", "config.network")),
        ({"config": {"network": "inner"}}, ("bad_value", "config.network")),
        ({"config": {"invoke_route": "v1"}}, ("bad_value", "config.invoke_route")),
        ({"config": {"invoke_route": "/../../4:undeployModel"}}, ("bad_value", "config.invoke_route")),
        ({"config": {"invoke_route": "/v1/."}}, ("bad_value", "config.invoke_route")),
        ({"config": {"invoke_route": "/v1/%2e%2e/4"}}, ("bad_value", "config.invoke_route")),
        ({"config": {"invoke_route": "/v1?key=x"}}, ("bad_value", "config.invoke_route")),
        ({"config": {"project": "other"}}, ("unsupported_option", "config.project")),
        ({"config": {"model_copies": 2}}, ("unsupported_option", "config.model_copies")),
        ({"outputs": {"y": None}}, ("missing_type", "outputs.y")),
        ({"retries": -1}, ("bad_value", "retries")),
        ({"uri": "x"}, ("unknown_option", "uri")),
    ],
)
def test_what_is_wrong_is_said_at_its_place(more: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problems_of(PAIR, node() | more, "*.googleapis.com") == [problem]


def test_google_is_a_host_like_any_other() -> None:
    assert problems_of(PAIR, node(), "us-east1-aiplatform.googleapis.com") == [("untrusted_host", "location")]


def test_calls_of_a_private_endpoint_have_no_deadline() -> None:
    config = {"network": "projects/1/global/networks/inner"}
    private = node(private=True, timeout=1, config=config)
    assert problems_of(PAIR, private, "*") == [("unsupported_option", "timeout")]


def test_columns_that_cannot_be_joined_are_refused() -> None:
    both = {"x": "string", "z": "double"}
    assert problems_of(both, node(inputs=["x", "z"]), "*") == [("type_mismatch", "inputs[0]")]


def test_a_check_imports_nothing_of_google() -> None:
    code = f"""
import json, sys
from beam_ensembles.graph import check_text
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.registry import KINDS
spec = {{"ensemble": "e", "inputs": {PAIR!r}, "nodes": {{"n": {node()!r}}}}}
graph = check_text(json.dumps(spec), KINDS, Files("/", hosts=ANYTHING, is_own=True))
print(graph.outputs[0][1], "google.cloud.aiplatform" in sys.modules, "apache_beam" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "double False False\n"
