"""What a server says of its model, compared with the node before anything runs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.registry import KINDS
from tests.support.nodes import problems_of, types_of
from tests.support.open_inference import FakeServer, node, served

PAIR = {"x": "array<double>[2]"}


def graph_of(inputs: dict[str, str], node: dict[str, Any]) -> EnsembleGraph:
    text = json.dumps({"ensemble": "test", "inputs": inputs, "nodes": {"node": node}})
    return check_text(text, KINDS, Files("/", hosts=("localhost",)))


@pytest.mark.parametrize(
    ("inputs", "model", "outputs", "types"),
    [
        (PAIR, "double", {"y": None}, {"y": "array<float>[2]"}),
        (PAIR, "double", {"y": "array<double>[2]"}, {"y": "array<double>[2]"}),
        (PAIR, "double", {"z": None}, {"z": "array<float>[2]"}),
        (PAIR, "versioned/3", {"y": None}, {"y": "array<float>[2]"}),
        ({"x": "int32"}, "counts", {"y": None}, {"y": "int64"}),
        ({"x": "int64"}, "pixels", {"y": "int32"}, {"y": "int32"}),
        ({"x": "string"}, "words", {"y": None}, {"y": "string"}),
        ({"x": "bytes"}, "words", {"y": "bytes"}, {"y": "bytes"}),
        (PAIR, "ragged", {"y": "array<float>"}, {"y": "array<float>"}),
        (PAIR, "ragged", {"y": "array<float>[1]"}, {"y": "array<float>[1]"}),
    ],
)
def test_the_servers_metadata_give_the_types(
    tmp_path: Path,
    server: FakeServer,
    inputs: dict[str, str],
    model: str,
    outputs: dict[str, str],
    types: dict[str, str],
) -> None:
    assert types_of(tmp_path, inputs, node(server.uri(model), outputs=outputs)) == types
    assert server.asked == 1


def test_where_the_server_says_nothing_what_is_declared_holds(tmp_path: Path, server: FakeServer) -> None:
    named = node(
        server.uri("silent"), inputs={"x": "x"}, outputs={"y": "array<double>[2]", "z": "array<string>"}
    )
    assert types_of(tmp_path, PAIR, named) == {"y": "array<double>[2]", "z": "array<string>"}
    assert problems_of(tmp_path, PAIR, node(server.uri("silent"), outputs={"y": "double"})) == [
        ("signature_mismatch", "inputs")
    ]
    assert problems_of(tmp_path, PAIR, node(server.uri("silent"), inputs={"x": "x"})) == [
        ("missing_type", "outputs.y")
    ]


@pytest.mark.parametrize(
    ("inputs", "model", "more", "problem"),
    [
        (
            {"x": "double"},
            "two",
            {"inputs": {"a": "x", "b": "x", "c": "x"}, "outputs": {"sum": None}},
            ("unknown_port", "inputs.c"),
        ),
        (PAIR, "double", {"outputs": {"y": {"from": "Y"}}}, ("unknown_port", "outputs.y")),
        (PAIR, "double", {"outputs": {"y": "array<float>[3]"}}, ("signature_mismatch", "outputs.y")),
        (PAIR, "double", {"outputs": {"y": "string"}}, ("signature_mismatch", "outputs.y")),
        ({"x": "array<double>[3]"}, "double", {}, ("signature_mismatch", "inputs")),
        ({"x": "double"}, "counts", {}, ("signature_mismatch", "inputs")),
        ({"x": "string"}, "double", {}, ("signature_mismatch", "inputs")),
        ({"x": "double"}, "words", {}, ("signature_mismatch", "inputs")),
        ({"x": "double"}, "two", {"outputs": {"sum": None}}, ("signature_mismatch", "inputs")),
        (PAIR, "ragged", {}, ("missing_type", "outputs.y")),
        (PAIR, "fixed", {}, ("signature_mismatch", "inputs")),
        (PAIR, "nobody", {}, ("server_refused", "uri")),
        (PAIR, "versioned/4", {}, ("server_refused", "uri")),
        (PAIR, "nobody", {"outputs": {"y": "double"}}, ("server_refused", "uri")),
    ],
)
def test_what_does_not_fit_is_said_at_its_place(
    tmp_path: Path,
    server: FakeServer,
    inputs: dict[str, str],
    model: str,
    more: dict[str, Any],
    problem: tuple[str, str],
) -> None:
    assert problems_of(tmp_path, inputs, node(server.uri(model), **more)) == [problem]


def test_values_that_no_column_can_hold_are_refused(tmp_path: Path, server: FakeServer) -> None:
    assert set(problems_of(tmp_path, PAIR, node(server.uri("brain")))) == {("signature_mismatch", "uri")}


def test_a_server_that_does_not_answer_is_a_warning_where_all_types_are_declared(tmp_path: Path) -> None:
    with served({}) as gone:
        uri = gone.uri("double")
    typed = graph_of(PAIR, node(uri, outputs={"y": "array<float>[2]"}))
    assert [(warning.code, warning.path) for warning in typed.warnings] == [
        ("server_unreachable", "nodes.node.uri")
    ]
    assert problems_of(tmp_path, PAIR, node(uri)) == [("server_unreachable", "uri")]


def test_what_is_no_server_of_the_protocol_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as silent:
        uri = f"grpc://localhost:{silent.getsockname()[1]}/double"
        found = problems_of(tmp_path, PAIR, node(uri, timeout=0.2))
    assert ("server_unreachable", "uri") in found


def test_no_host_is_called_that_nobody_allowed(tmp_path: Path, server: FakeServer) -> None:
    stranger = problems_of(tmp_path, PAIR, node(server.uri("double")), trust=False)
    assert stranger == [("untrusted_host", "uri")]
    assert server.asked == 0


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"uri": "grpc://localhost/double"}, ("bad_value", "uri")),
        ({"uri": "models/double"}, ("bad_value", "uri")),
        ({"timeout": 0}, ("bad_value", "timeout")),
        ({"retries": -1}, ("bad_value", "retries")),
        ({"batch": {"max": 0}}, ("bad_value", "batch.max")),
        ({"inference_args": {"a": [1]}}, ("bad_value", "inference_args.a")),
        ({"config": {"headers": {"a": 1}}}, ("bad_value", "config.headers")),
        ({"config": {"headers": {"grpc-timeout": "1S"}}}, ("bad_value", "config.headers")),
        (
            {"config": {"headers": {"Authorization": "Bearer x"}}},
            ("bad_value", "config.headers.Authorization"),
        ),
        (
            {"config": {"headers": {"authorization": {"secret": "Bearer x"}}}},
            ("bad_value", "config.headers.authorization"),
        ),
        (
            {"config": {"headers": {"authorization": {"secret": "env:HOME"}}}},
            ("untrusted_secret", "config.headers.authorization"),
        ),
        ({"config": {"compression": "zip"}}, ("bad_value", "config.compression")),
        ({"config": {"root_certificates": "/etc/ca.pem"}}, ("bad_value", "config.root_certificates")),
        ({"config": {"large_model": True}}, ("unsupported_option", "config.large_model")),
        ({"config": {"num_retries": 1}}, ("unsupported_option", "config.num_retries")),
        ({"config": {"window_ms": 0}}, ("bad_value", "config.window_ms")),
        ({"config": {"ssl": True}}, ("unknown_option", "config.ssl")),
        ({"labels": ["a", "a"]}, ("bad_labels", "labels")),
        ({"device": "gpu"}, ("unknown_option", "device")),
    ],
)
def test_options_are_checked_before_anybody_is_called(
    tmp_path: Path, server: FakeServer, more: dict[str, Any], problem: tuple[str, str]
) -> None:
    typed = node(server.uri("double"), outputs={"y": "array<float>[2]"})
    assert problems_of(tmp_path, PAIR, typed | more) == [problem]
    assert server.asked == 0


@pytest.mark.parametrize("key", ["root_certificates", "private_key"])
def test_certificates_are_read_from_trusted_places_only(tmp_path: Path, server: FakeServer, key: str) -> None:
    secure = node(server.uri("double", "grpcs"), outputs={"y": "array<float>[2]"})
    both = {"root_certificates": {}, "private_key": {"certificate_chain": str(tmp_path / "chain.pem")}}[key]
    relative = secure | {"config": {key: "ca.pem", **both}}
    elsewhere = secure | {"config": {key: "/etc/hosts", **both}}
    assert problems_of(tmp_path, PAIR, relative) == [("bad_value", f"config.{key}")]
    assert problems_of(tmp_path, PAIR, elsewhere) == [("untrusted_file", f"config.{key}")]


def test_a_key_needs_its_certificate(tmp_path: Path, server: FakeServer) -> None:
    config = {"private_key": str(tmp_path / "key.pem")}
    secure = node(server.uri("double", "grpcs"), outputs={"y": "array<float>[2]"}, config=config)
    assert problems_of(tmp_path, PAIR, secure) == [("bad_value", "config")]


def test_a_check_imports_no_client(server: FakeServer) -> None:
    code = f"""
import json, sys
from beam_ensembles.graph import check_text
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.registry import KINDS
spec = {{"ensemble": "e", "inputs": {PAIR!r}, "nodes": {{"n": {node(server.uri("double"))!r}}}}}
graph = check_text(json.dumps(spec), KINDS, Files("/", hosts=ANYTHING, is_own=True))
print(graph.outputs[0][1], [name for name in sys.modules if "triton" in name])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "array<float>[2] []\n"
