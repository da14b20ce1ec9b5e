"""Drawn requests to a real service: each gets an answer that is a sentence, and the service stays as it was."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
import resource
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from apache_beam.portability import common_urns, python_urns
from apache_beam.portability.api import (
    beam_expansion_api_pb2,
    beam_runner_api_pb2,
    external_transforms_pb2,
    schema_pb2,
    standard_window_fns_pb2,
)
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2
from hypothesis import strategies as st

from beam_ensembles.types import parse_type
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, like_java, schema
from tests.support.fuzzing import EXAMPLES, fuzz, mutated
from tests.support.service import RunningService, running_service

SERVICE = "/org.apache.beam.model.expansion.v1.ExpansionService/"
ARTIFACTS = "/org.apache.beam.model.job_management.v1.ArtifactRetrievalService/"
ROWS = schema("rows", a="double", b="double", c="array<row<x: string?, y: map<string,bytes>>>?")
CONFIG = {
    "spec": MEAN_OF_TWO,
    "parameters": {"p": "q"},
    "pass_through": ["a"],
    "error_handling": {"output": "errors"},
    "refresh_interval_secs": 60,
    "provenance": True,
    "opaque": {"x": "T"},
}
REFUSED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.NOT_FOUND,
}
MOST_SECONDS = 100.0
_FEWER = max(EXAMPLES // 2, 1)


@dataclasses.dataclass
class Attacked:
    """A service under attack.

    Attributes:
        service: Its process.
        channel: Connected to it.
        expanded: How many ``Expand`` it was asked for that it could read.
    """

    service: RunningService
    channel: grpc.Channel
    expanded: int = 0

    def call(self, method: str, data: bytes) -> bytes | grpc.StatusCode:
        """Sends bytes; returns the answer's, or why there is none."""
        call = self.channel.unary_unary(method).future(data, timeout=MOST_SECONDS)
        if call.code() == grpc.StatusCode.OK:
            return bytes(call.result())
        assert call.code() in REFUSED, (call.code(), call.details())
        return call.code()  # type: ignore[no-any-return]

    def expand(self, data: bytes) -> str:
        """Sends an ``Expand``; returns what was said of it."""
        answer = self.call(SERVICE + "Expand", data)
        if isinstance(answer, grpc.StatusCode):
            return str(answer)
        self.expanded += 1
        error = beam_expansion_api_pb2.ExpansionResponse.FromString(answer).error
        assert "internal error" not in error
        assert "Traceback" not in error
        assert len(error) < 100_000
        return error


@pytest.fixture(scope="module")
def attacked() -> Iterator[Attacked]:
    """A service that must have survived all attacks of this module, with one line for each request in its log."""
    with (
        running_service("--serve-loopback-worker", "--request-seconds", "15") as service,
        grpc.insecure_channel(service.address) as channel,
    ):
        found = Attacked(service, channel)
        for build in (like_go, like_java):
            assert not found.expand(build({"spec": MEAN_OF_TWO}, ROWS).SerializeToString())
        yield found
        assert service.process.poll() is None
        assert service.end(signal.SIGTERM) == 0
        log = service.log
        assert "Traceback" not in log
        assert "Exception" not in log
        lines = [line for line in log.splitlines() if "beam_ensembles_service.request_log" in line]
        assert len(lines) == found.expanded


_TEXTS = st.one_of(
    st.sampled_from(
        ["", "n1", "n2", "c0@QxXkLm", "c2", "w0@QxXkLm", "go", "output", "\0", "\n\x1b[2J\u202e", "x" * 5_000]
    ),
    st.sampled_from([python_urns.PICKLED_CODER, python_urns.PICKLED_WINDOWFN, python_urns.PICKLED_TRANSFORM]),
    st.sampled_from([common_urns.coders.ROW.urn, common_urns.coders.BYTES.urn, common_urns.coders.KV.urn]),
    st.sampled_from(
        [common_urns.fixed_windows.urn, common_urns.sliding_windows.urn, common_urns.session_windows.urn]
    ),
    st.text(max_size=20),
)
_NUMBERS = st.one_of(st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1))
_PAYLOADS: dict[str, type[Message]] = {
    common_urns.coders.ROW.urn: schema_pb2.Schema,
    common_urns.schematransform_based_expand.urn: external_transforms_pb2.SchemaTransformPayload,
    common_urns.fixed_windows.urn: standard_window_fns_pb2.FixedWindowsPayload,
    common_urns.sliding_windows.urn: standard_window_fns_pb2.SlidingWindowsPayload,
    common_urns.session_windows.urn: standard_window_fns_pb2.SessionWindowsPayload,
}


@st.composite
def changed(draw: st.DrawFn, original: Message, times: int = 3) -> Message:
    """Draws a message that differs from the original in a few fields, within serialized payloads too."""
    message = copy.deepcopy(original)
    for _ in range(draw(st.integers(1, times))):
        _change(draw, message)
    return message


def _change(draw: st.DrawFn, message: Any, depth: int = 0) -> None:
    """Walks to some field, more often to one that is set, and changes it."""
    if (
        isinstance(message, beam_runner_api_pb2.FunctionSpec)
        and message.urn in _PAYLOADS
        and draw(st.booleans())
    ):
        inner = _PAYLOADS[message.urn].FromString(message.payload)
        _change(draw, inner, depth + 1)
        message.payload = inner.SerializeToString()
        return
    filled = [field for field, _ in message.ListFields()]
    fields = filled if filled and draw(st.integers(0, 3)) else list(message.DESCRIPTOR.fields)
    if not fields:
        return
    field = draw(st.sampled_from(fields))
    if draw(st.integers(0, 9)) == 0:
        message.ClearField(field.name)
    elif _is_map(field):
        _change_map(draw, getattr(message, field.name), field, depth)
    elif field.label == FieldDescriptor.LABEL_REPEATED:
        _change_list(draw, getattr(message, field.name), field, depth)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        if depth < 40:
            getattr(message, field.name).SetInParent()
            _change(draw, getattr(message, field.name), depth + 1)
    else:
        setattr(message, field.name, _scalar(draw, field))


def _is_map(field: FieldDescriptor) -> bool:
    return field.type == FieldDescriptor.TYPE_MESSAGE and field.message_type.GetOptions().map_entry


def _change_map(draw: st.DrawFn, entries: Any, field: FieldDescriptor, depth: int) -> None:
    keys = sorted(entries)
    value = field.message_type.fields_by_name["value"]
    how = draw(st.sampled_from(["change", "change", "delete", "rename", "add"]))
    key = draw(st.sampled_from(keys)) if keys and how != "add" else draw(_TEXTS)
    if how == "delete":
        entries.pop(key, None)
    elif value.type != FieldDescriptor.TYPE_MESSAGE:
        entries[key] = _scalar(draw, value)
    elif how == "rename" and keys:
        entries[draw(_TEXTS)].CopyFrom(entries[key])
        entries.pop(key, None)
    elif depth < 40:
        _change(draw, entries[key], depth + 1)


def _change_list(draw: st.DrawFn, items: Any, field: FieldDescriptor, depth: int) -> None:
    how = draw(st.sampled_from(["change", "change", "delete", "repeat", "add"]))
    at = draw(st.integers(0, max(len(items) - 1, 0)))
    if how == "delete" and items:
        del items[at]
    elif how == "repeat" and items:
        items.extend([items[at]] * draw(st.sampled_from([1, 2, 200])))
    elif field.type != FieldDescriptor.TYPE_MESSAGE:
        items.append(_scalar(draw, field))
    elif depth < 40:
        _change(draw, items[at] if items and how == "change" else items.add(), depth + 1)


def _scalar(draw: st.DrawFn, field: FieldDescriptor) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return draw(_TEXTS).encode("utf-8", "replace").decode()
    if field.type == FieldDescriptor.TYPE_BYTES:
        return draw(st.one_of(st.binary(max_size=40), st.just(b"\xff" * 200)))
    if field.type == FieldDescriptor.TYPE_BOOL:
        return draw(st.booleans())
    if field.type == FieldDescriptor.TYPE_ENUM:
        return draw(st.integers(0, 12))
    if field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        return draw(st.floats())
    return abs(draw(_NUMBERS)) if "UINT" in str(field.type) or field.type in (4, 13) else draw(_NUMBERS)


REQUESTS = [build(CONFIG, ROWS) for build in (like_go, like_java)]
SESSIONS = like_go(CONFIG, ROWS)
_gap = standard_window_fns_pb2.SlidingWindowsPayload()
_gap.size.seconds, _gap.period.seconds = 10, 5
SESSIONS.components.windowing_strategies["w0@QxXkLm"].window_fn.urn = common_urns.sliding_windows.urn
SESSIONS.components.windowing_strategies["w0@QxXkLm"].window_fn.payload = _gap.SerializeToString()


@fuzz(
    st.sampled_from([*REQUESTS, SESSIONS]).flatmap(lambda one: mutated(one.SerializeToString())),
    examples=_FEWER,
)
def test_mutated_bytes_of_an_expansion(attacked: Attacked, data: bytes) -> None:
    attacked.expand(data)


@fuzz(st.sampled_from([*REQUESTS, SESSIONS]).flatmap(changed), examples=_FEWER)
def test_changed_fields_of_an_expansion(attacked: Attacked, request_: Message) -> None:
    attacked.expand(request_.SerializeToString())


def _payload(request: Any) -> external_transforms_pb2.SchemaTransformPayload:
    return external_transforms_pb2.SchemaTransformPayload.FromString(request.transform.spec.payload)


@fuzz(mutated(_payload(REQUESTS[0]).configuration_row), examples=_FEWER)
def test_mutated_configuration_rows(attacked: Attacked, row: bytes) -> None:
    request = copy.deepcopy(REQUESTS[0])
    payload = _payload(request)
    payload.configuration_row = row
    request.transform.spec.payload = payload.SerializeToString()
    attacked.expand(request.SerializeToString())


_FIELDS = st.dictionaries(
    st.sampled_from([*CONFIG, "output_schema", "errors_schema", "input_schema", "encoding", "columns", "prefx"]),
    st.sampled_from(
        ["string", "bytes", "int64", "int32", "boolean", "double", "array<string>", "array<row<x: string>>",
         "map<string,string>", "map<string,array<bytes>>", "row<output: string>", "row<output: row<x: int64>>"]
    ),
    max_size=4,
)  # fmt: skip


@fuzz(_FIELDS, st.binary(max_size=60), examples=_FEWER)
def test_drawn_configurations(attacked: Attacked, fields: dict[str, str], row: bytes) -> None:
    request = copy.deepcopy(REQUESTS[0])
    payload = _payload(request)
    payload.configuration_schema.CopyFrom(
        schema("config", **{name: str(parse_type(t)) for name, t in fields.items()})
    )
    payload.configuration_row = bytes([len(fields), 0]) + row
    request.transform.spec.payload = payload.SerializeToString()
    attacked.expand(request.SerializeToString())


@fuzz(
    st.sampled_from(["output_schema", "errors_schema", "input_schema"]),
    st.one_of(mutated(ROWS.SerializeToString()), changed(ROWS).map(lambda one: one.SerializeToString())),
    examples=_FEWER,
)
def test_changed_schemas_of_the_caller(attacked: Attacked, name: str, data: bytes) -> None:
    config = {"spec": MEAN_OF_TWO, name: data}
    if name == "errors_schema":
        config["error_handling"] = {"output": "errors"}  # type: ignore[assignment]
    request = like_go(config, ROWS)
    if name == "input_schema":
        request = like_go({**config, "encoding": "arrow"}, ROWS)
        request.components.coders["c0@QxXkLm"].spec.urn = common_urns.coders.BYTES.urn
    attacked.expand(request.SerializeToString())


_ARTIFACT = beam_runner_api_pb2.ArtifactInformation(
    type_urn=common_urns.artifact_types.FILE.urn,
    type_payload=beam_runner_api_pb2.ArtifactFilePayload(
        path="/etc/passwd", sha256="0" * 64
    ).SerializeToString(),
    role_urn=common_urns.artifact_roles.STAGING_TO.urn,
)
_URNS = [
    getattr(common_urns.artifact_types, kind).urn for kind in ("FILE", "URL", "EMBEDDED", "PYPI", "MAVEN")
]


@fuzz(
    st.sampled_from(_URNS),
    st.one_of(changed(_ARTIFACT), st.just(_ARTIFACT)),
    st.booleans(),
    examples=_FEWER,
)
def test_artifacts_that_no_expansion_offered(
    attacked: Attacked, urn: str, artifact: Any, is_mutated: bool
) -> None:
    if not is_mutated:
        artifact = copy.deepcopy(artifact)
        artifact.type_urn = urn
    data = b"\x0a" + _varint(artifact.ByteSize()) + artifact.SerializeToString()  # field 1 of both requests
    answer = attacked.call(ARTIFACTS + "ResolveArtifacts", data)
    assert answer == grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(grpc.RpcError) as error:
        list(attacked.channel.unary_stream(ARTIFACTS + "GetArtifact")(data, timeout=MOST_SECONDS))
    assert error.value.code() == grpc.StatusCode.PERMISSION_DENIED


def _varint(value: int) -> bytes:
    head = b""
    while value > 127:
        head += bytes([value & 127 | 128])
        value >>= 7
    return head + bytes([value])


METHODS = [
    SERVICE + "Expand",
    SERVICE + "DiscoverSchemaTransform",
    ARTIFACTS + "ResolveArtifacts",
    ARTIFACTS + "GetArtifact",
    "/grpc.health.v1.Health/Check",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/org.apache.beam.model.fn_execution.v1.BeamFnExternalWorkerPool/StopWorker",
]


@fuzz(st.sampled_from(METHODS), st.binary(max_size=100))
def test_bytes_of_no_message(attacked: Attacked, method: str, data: bytes) -> None:
    call = attacked.channel.stream_stream(method)(iter([data]), timeout=MOST_SECONDS)
    with contextlib.suppress(grpc.RpcError):
        attacked.expanded += len(list(call)) * method.endswith("Expand")
    assert call.code() in (*REFUSED, grpc.StatusCode.OK), (call.code(), call.details())


def _resident(service: RunningService) -> int:
    pages = int(Path(f"/proc/{service.process.pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_health_answers_and_memory_is_given_back_after_all_that(attacked: Attacked) -> None:
    def expand() -> None:
        for request in (*REQUESTS, SESSIONS):
            for _ in range(10):
                attacked.expand(request.SerializeToString())

    expand()
    before = _resident(attacked.service)
    expand()
    assert _resident(attacked.service) - before < 20 << 20
    answer = attacked.call("/grpc.health.v1.Health/Check", b"")
    assert isinstance(answer, bytes)
    assert health_pb2.HealthCheckResponse.FromString(answer).status == 1
    assert threading.active_count() < 50
    assert len(os.listdir(f"/proc/{attacked.service.process.pid}/task")) < 100
