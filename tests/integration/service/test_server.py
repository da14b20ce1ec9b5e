"""The real service, from its first line to its graceful end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from apache_beam.internal import pickler
from apache_beam.portability import python_urns
from apache_beam.portability.api import (
    beam_artifact_api_pb2,
    beam_artifact_api_pb2_grpc,
    beam_expansion_api_pb2,
    beam_expansion_api_pb2_grpc,
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
    beam_runner_api_pb2,
)
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from beam_ensembles import __version__
from beam_ensembles.transforms import RUN_ENSEMBLE
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, like_java, schema
from tests.support.patience import SECONDS, wait_until
from tests.support.service import RunningService, command, running_service

EXPANSION = "org.apache.beam.model.expansion.v1.ExpansionService"
ARTIFACTS = "org.apache.beam.model.job_management.v1.ArtifactRetrievalService"
WORKER_POOL = "org.apache.beam.model.fn_execution.v1.BeamFnExternalWorkerPool"
ROWS = schema("rows", a="double", b="double")
CONFIG = {"spec": MEAN_OF_TWO}
Build = Callable[..., beam_expansion_api_pb2.ExpansionRequest]


@pytest.fixture
def channel(service: RunningService) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(service.address) as open_channel:
        yield open_channel


def _expand(
    channel: grpc.Channel, request: beam_expansion_api_pb2.ExpansionRequest
) -> beam_expansion_api_pb2.ExpansionResponse:
    return beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel).Expand(request)


def test_it_prints_one_line_when_it_is_ready(service: RunningService) -> None:
    assert service.first_line == f"beam-ensembles {__version__} listening on {service.address}\n"
    assert service.address.startswith("127.0.0.1:")


def test_health_is_said_for_each_service(channel: grpc.Channel) -> None:
    stub = health_pb2_grpc.HealthStub(channel)
    for name in ("", EXPANSION, ARTIFACTS, WORKER_POOL):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_reflection_lists_what_is_served(channel: grpc.Channel) -> None:
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    (answer,) = stub.ServerReflectionInfo(iter([request]))
    names = {found.name for found in answer.list_services_response.service}
    assert {EXPANSION, ARTIFACTS, WORKER_POOL, "grpc.health.v1.Health"} <= names


def test_reflection_gives_the_messages_of_a_service(channel: grpc.Channel) -> None:
    request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=EXPANSION)
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    (answer,) = stub.ServerReflectionInfo(iter([request]))
    (file, *_) = answer.file_descriptor_response.file_descriptor_proto
    assert b"ExpansionRequest" in file


def test_it_tells_what_it_offers(channel: grpc.Channel) -> None:
    stub = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
    answer = stub.DiscoverSchemaTransform(beam_expansion_api_pb2.DiscoverSchemaTransformRequest())
    assert list(answer.schema_transform_configs) == [RUN_ENSEMBLE]


@pytest.mark.parametrize("build", [like_go, like_java])
def test_it_expands_for_go_and_for_java_in_workers_of_its_own(
    build: Build, channel: grpc.Channel, service: RunningService
) -> None:
    answer = _expand(channel, build(CONFIG, ROWS))
    assert not answer.error
    environment = answer.components.environments[answer.transform.environment_id]
    payload = beam_runner_api_pb2.ExternalPayload.FromString(environment.payload)
    assert payload.endpoint.url == service.address


def test_a_mistake_is_one_clear_message(channel: grpc.Channel) -> None:
    answer = _expand(channel, like_go({"spec": "ensemble: x\nnods: {}\n"}, ROWS))
    assert "[unknown_key] nods: " in answer.error
    assert "Traceback" not in answer.error


def test_pickled_code_is_refused_undecoded(channel: grpc.Channel, tmp_path: Path) -> None:
    file = tmp_path / "decoded"
    request = like_go(CONFIG, ROWS)
    request.transform.spec.urn = python_urns.PICKLED_TRANSFORM
    request.transform.spec.payload = pickler.dumps(_Touch(file))
    assert "not transforms of the kind 'beam:transform:pickled_python:v1'" in _expand(channel, request).error
    assert not file.exists()


class _Touch:
    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._file,)


def test_no_file_of_the_machine_is_handed_out(channel: grpc.Channel) -> None:
    path = beam_runner_api_pb2.ArtifactFilePayload(path="/etc/hostname").SerializeToString()
    artifact = beam_runner_api_pb2.ArtifactInformation(
        type_urn="beam:artifact:type:file:v1", type_payload=path
    )
    stub = beam_artifact_api_pb2_grpc.ArtifactRetrievalServiceStub(channel)
    with pytest.raises(grpc.RpcError) as refusal:
        list(stub.GetArtifact(beam_artifact_api_pb2.GetArtifactRequest(artifact=artifact)))
    assert refusal.value.code() == grpc.StatusCode.PERMISSION_DENIED  # type: ignore[attr-defined]
    with pytest.raises(grpc.RpcError) as refusal:
        stub.ResolveArtifacts(beam_artifact_api_pb2.ResolveArtifactsRequest(artifacts=[artifact]))
    assert refusal.value.code() == grpc.StatusCode.PERMISSION_DENIED  # type: ignore[attr-defined]
    assert not stub.ResolveArtifacts(beam_artifact_api_pb2.ResolveArtifactsRequest()).replacements


def test_requests_larger_than_grpcs_default_are_taken(service: RunningService) -> None:
    unused = {f"unused{number}": "x" * 90_000 for number in range(60)}
    request = like_go({"spec": MEAN_OF_TWO, "parameters": unused}, ROWS)
    assert request.ByteSize() > 4 << 20
    with grpc.insecure_channel(service.address, options=[("grpc.max_receive_message_length", -1)]) as wide:
        assert "[unknown_parameter]" in _expand(wide, request).error


def test_fifty_requests_at_once_all_get_their_own_answer(channel: grpc.Channel) -> None:
    def ask(number: int) -> None:
        fields = {f"f{number}": "string", "a": "double", "b": "double"}
        answer = _expand(channel, like_go(CONFIG, schema("T", **fields), namespace=f"Ns{number}x"))
        assert not answer.error
        coder = answer.components.pcollections[answer.transform.outputs["output"]].coder_id
        assert f"f{number}".encode() in answer.components.coders[coder].spec.payload

    with futures.ThreadPoolExecutor(50) as threads:
        list(threads.map(ask, range(50)))


def test_a_second_service_on_the_port_says_so_and_the_first_goes_on(
    service: RunningService, channel: grpc.Channel
) -> None:
    port = service.address.rpartition(":")[2]
    done = _run("--port", port)
    assert done.returncode == 1
    assert _own_lines(done.stderr) == [
        f"beam-ensembles serve: cannot listen on 127.0.0.1:{port}: address already in use"
    ]
    assert not done.stdout
    assert not _expand(channel, like_go(CONFIG, ROWS)).error


def test_a_host_that_is_not_this_machine_is_said_in_one_sentence() -> None:
    done = _run("--host", "192.0.2.1", "--port", "8097", "--insecure")
    assert done.returncode == 1
    (line,) = _own_lines(done.stderr)
    assert line.startswith("beam-ensembles serve: cannot listen on 192.0.2.1:8097: ")


def _run(*flags: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        command(*flags), capture_output=True, text=True, timeout=SECONDS, env=env, check=False
    )


def _own_lines(stderr: str) -> list[str]:
    """Leaves out what Beam logs while it is imported."""
    return [line for line in stderr.splitlines() if "apitools not found" not in line]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_gracefully_and_frees_the_port(number: int) -> None:
    start = time.monotonic()
    with running_service() as running:
        ready = time.monotonic()
        assert running.end(number) == 0
        assert time.monotonic() - ready < max(ready - start, 4.0), "it waits for requests that nobody made"
        assert "Traceback" not in running.log
        host, _, port = running.address.rpartition(":")
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, int(port)))


def _text(numbers: int) -> str:
    return MEAN_OF_TWO + "much: [" + "1," * numbers + "1]\n"


@contextlib.contextmanager
def _slow_requests(count: int) -> Iterator[tuple[RunningService, list[grpc.Future]]]:
    """Keep a service at work on requests that take it about two seconds each, on any machine."""
    with running_service() as running, grpc.insecure_channel(running.address) as channel:
        stub = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
        assert stub.Expand(like_go({"spec": _text(1)}, ROWS), timeout=SECONDS).error
        start = time.monotonic()
        assert stub.Expand(like_go({"spec": _text(30_000)}, ROWS), timeout=SECONDS).error
        spec = _text(int(60_000 / (time.monotonic() - start)))
        idle = _cpu_seconds(running.process)
        answers = [stub.Expand.future(like_go({"spec": spec}, ROWS)) for _ in range(count)]
        wait_until(lambda: _cpu_seconds(running.process) > idle + 0.05)
        yield running, answers


def _cpu_seconds(process: subprocess.Popen[str]) -> float:
    return float(psutil.Process(process.pid).cpu_times().user)


def _catches(process: subprocess.Popen[str], number: int) -> bool:
    """Returns whether a process has a handler for a signal."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs Linux's /proc")
def test_a_signal_before_it_is_ready_ends_it_too() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command("--port", "0"), text=True, env=env, **pipes) as process:
        wait_until(lambda: _catches(process, signal.SIGTERM))  # which is long before Beam is imported
        process.terminate()
        stdout, stderr = process.communicate(timeout=SECONDS)
    assert (process.returncode, stdout) == (0, "")
    assert "Traceback" not in stderr


def test_a_request_in_work_is_answered_before_the_end() -> None:
    with _slow_requests(1) as (running, [answer]):
        assert not answer.done()
        running.process.send_signal(signal.SIGTERM)
        assert "unknown_key" in answer.result(SECONDS).error
        assert running.process.wait(SECONDS) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_that_take_too_long_end_with_a_status_and_do_not_keep_it_from_ending(number: int) -> None:
    with _slow_requests(40) as (running, answers):
        assert running.end(number) == 0
        errors = [answer.exception(SECONDS) for answer in answers]
        refused = [error for error in errors if isinstance(error, grpc.RpcError)]
        assert refused
        assert len(refused) + errors.count(None) == len(answers)
        codes = {error.code() for error in refused}  # type: ignore[attr-defined]
        assert codes <= {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


def test_a_connection_that_reads_nothing_does_not_keep_it_from_ending() -> None:
    """gRPC waits for what it has to send to a client: here answers to pings, once the socket is full."""
    ping = b"\0\0\x08\x06\0\0\0\0\0" + bytes(8)
    with running_service() as running:
        host, _, port = running.address.rpartition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5))
            connection.settimeout(1)
            with contextlib.suppress(OSError):  # the server reads no more
                for _ in range(2_000):
                    connection.sendall(ping * 1_000)
            assert running.end() == 0


def test_it_ends_with_its_standard_input_where_that_was_asked_for() -> None:
    with running_service("--stop-with-stdin") as running:
        assert running.process.stdin is not None
        running.process.stdin.close()
        assert running.process.wait(SECONDS) == 0


def test_it_lives_on_without_standard_input_otherwise(service: RunningService) -> None:
    with running_service() as running, grpc.insecure_channel(running.address) as channel:
        assert running.process.stdin is not None
        running.process.stdin.close()
        time.sleep(0.5)
        assert not _expand(channel, like_go(CONFIG, ROWS)).error


def test_without_the_loopback_flag_no_worker_is_started() -> None:
    with running_service() as running, grpc.insecure_channel(running.address) as channel:
        stub = beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel)
        with pytest.raises(grpc.RpcError) as refusal:
            stub.StartWorker(beam_fn_api_pb2.StartWorkerRequest(worker_id="w"))
        assert refusal.value.code() == grpc.StatusCode.UNIMPLEMENTED  # type: ignore[attr-defined]


def test_starting_and_validating_imports_no_framework() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), *sys.path]))}
    done = subprocess.run(
        [sys.executable, "-c", VALIDATE, str(GOLDEN)], capture_output=True, text=True, env=env, check=False
    )
    assert done.stdout == "[]\n", done.stderr


ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "specs"
VALIDATE = """
import sys
from pathlib import Path
import grpc
from apache_beam.portability.api import beam_expansion_api_pb2_grpc
from beam_ensembles_service.server import Service
from beam_ensembles_service.settings import Settings
from tests.support.expansion_requests import like_go, schema

folder = Path(sys.argv[1])
trust = (str(folder.parent / "specs_invalid" / "models"),)
service = Service(Settings(port=0, serve_loopback_worker=True, trust=trust))
service.start()
config = {"spec": (folder / "votes.yaml").read_text(), "base_uri": str(folder)}
with grpc.insecure_channel(f"127.0.0.1:{service.port}") as channel:
    stub = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
    right = stub.Expand(like_go(config, schema("rows", x="array<double>", note="string?")))
    wrong = stub.Expand(like_go(config, schema("rows", x="string")))
service.stop()
assert not right.error, right.error
assert "[field_type] input.x: " in wrong.error, wrong.error
frameworks = {"joblib", "onnx", "onnxruntime", "sklearn", "tensorflow", "torch", "transformers", "xgboost"}
print(sorted(frameworks & set(sys.modules)))
"""
