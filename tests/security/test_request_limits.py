"""A service that is asked for more than it does at one time: requests wait, health answers, callers may go."""

from __future__ import annotations

import concurrent.futures
import socket
import struct
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from apache_beam.portability.api import (
    beam_artifact_api_pb2_grpc,
    beam_expansion_api_pb2,
    beam_expansion_api_pb2_grpc,
)
from grpc_health.v1 import health_pb2, health_pb2_grpc

from beam_ensembles.interruption import Interrupted, checkpoint, while_wanted
from beam_ensembles_service import health_service
from beam_ensembles_service.health_service import Health
from beam_ensembles_service.requests import admission, reading, slots
from beam_ensembles_service.requests.admission import Admission
from beam_ensembles_service.requests.artifacts import OfferedArtifacts
from beam_ensembles_service.settings import Limits
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, schema
from tests.support.patience import SECONDS, wait_until
from tests.support.service import running_service

EXPAND = "/org.apache.beam.model.expansion.v1.ExpansionService/Expand"
RESOLVE = "/org.apache.beam.model.job_management.v1.ArtifactRetrievalService/ResolveArtifacts"
HEALTH = "/grpc.health.v1.Health/Check"
Request = beam_expansion_api_pb2.ExpansionRequest
Response = beam_expansion_api_pb2.ExpansionResponse
Code = grpc.StatusCode
ROWS = schema("rows", a="double", b="double")


class Slow(beam_expansion_api_pb2_grpc.ExpansionServiceServicer):  # type: ignore[misc]
    """Answers when it is told to, or never; says how many it works on, and how many wait."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.go_on = threading.Event()
        self.begun: list[str] = []
        self.interrupted: list[str] = []

    def Expand(self, request: Request, context: grpc.ServicerContext) -> Response:
        self.begun.append(request.namespace)
        try:
            while not self.go_on.wait(0.01):
                checkpoint()
        except Interrupted:
            self.interrupted.append(request.namespace)
            raise
        return Response(error=request.namespace)

    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return len(self.admission._slots._waiting)

    def open_calls(self, method: str) -> int:
        """How many calls are open of the service that a method is one of."""
        return self.admission._calls.get(method.split("/")[1], 0)


class Healthy(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    def Check(self, request: Any, context: Any) -> Any:
        return health_pb2.HealthCheckResponse(status=1)


Served = tuple[Slow, grpc.Channel]


@pytest.fixture
def serve() -> Iterator[Callable[[Limits], Served]]:
    """Starts a server of slow requests."""
    ended = []

    def start(limits: Limits) -> Served:
        slow = Slow(Admission(limits))
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(64), interceptors=[slow.admission])
        beam_expansion_api_pb2_grpc.add_ExpansionServiceServicer_to_server(slow, server)
        beam_artifact_api_pb2_grpc.add_ArtifactRetrievalServiceServicer_to_server(OfferedArtifacts(), server)
        health_pb2_grpc.add_HealthServicer_to_server(Healthy(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        ended.extend([slow.go_on.set, channel.close, lambda: server.stop(0).wait()])
        return slow, channel

    yield start
    for end in ended:
        end()


def _expand(channel: grpc.Channel, name: str) -> Any:
    stub = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
    return stub.Expand.future(Request(namespace=name))


def test_requests_over_the_limit_wait_in_order_and_health_answers_meanwhile(
    serve: Callable[[Limits], Served],
) -> None:
    slow, channel = serve(Limits(max_requests=2))
    calls = []
    for index in range(10):
        calls.append(_expand(channel, str(index)))
        wait_until(lambda: len(slow.begun) + slow.waiting() == len(calls))
    assert slow.begun == ["0", "1"]
    assert (
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=SECONDS).status
        == 1
    )
    slow.go_on.set()
    assert [call.result(SECONDS).error for call in calls] == [str(index) for index in range(10)]
    assert len(slow.begun) == 10


def test_a_request_that_waits_for_too_long_is_refused(serve: Callable[[Limits], Served]) -> None:
    slow, channel = serve(Limits(max_requests=1, request_seconds=0.3))
    first = _expand(channel, "first")
    wait_until(lambda: slow.begun == ["first"])
    second = _expand(channel, "second")
    assert first.code() == Code.DEADLINE_EXCEEDED
    assert first.details() == "the request took longer than 0.3 s, so it was ended (serve --request-seconds)"
    wait_until(lambda: slow.interrupted == ["first"])
    assert second.code() in (Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED)


def test_a_request_without_a_thread_keeps_no_slot(
    serve: Callable[[Limits], Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, channel = serve(Limits(max_requests=1))
    slow.go_on.set()
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "request":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            assert _expand(channel, "none").code() == Code.RESOURCE_EXHAUSTED
    assert _expand(channel, "first").result(10).error == "first"


def test_a_queue_that_is_full_refuses_at_once(
    serve: Callable[[Limits], Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "MOST_WAITING", 3)
    slow, channel = serve(Limits(max_requests=1))
    first = _expand(channel, "first")
    wait_until(lambda: slow.begun == ["first"])
    waiting = [_expand(channel, "waiting") for _ in range(3)]
    wait_until(lambda: slow.waiting() == 3)
    refused = _expand(channel, "refused")
    assert refused.code() == Code.RESOURCE_EXHAUSTED
    assert "--max-requests" in refused.details()
    slow.go_on.set()
    assert [call.result(SECONDS).error for call in (first, *waiting)] == ["first", *["waiting"] * 3]


def test_waiting_requests_hold_so_many_bytes_and_no_more(
    serve: Callable[[Limits], Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "MOST_WAITING_BYTES", 1_000)
    slow, channel = serve(Limits(max_requests=1))
    first = _expand(channel, "first")
    wait_until(lambda: slow.begun == ["first"])
    assert _expand(channel, "x" * 2_000).code() == Code.RESOURCE_EXHAUSTED
    slow.go_on.set()
    assert first.result(SECONDS).error == "first"


def test_a_caller_that_goes_frees_its_place_whether_it_waits_or_not(
    serve: Callable[[Limits], Served],
) -> None:
    slow, channel = serve(Limits(max_requests=1))
    first, second, third = (_expand(channel, name) for name in ("first", "second", "third"))
    wait_until(lambda: len(slow.begun) == 1 and slow.waiting() == 2)
    running = slow.begun[0]
    calls = {"first": first, "second": second, "third": third}
    others = [name for name in calls if name != running]
    calls[others[0]].cancel()
    wait_until(lambda: slow.waiting() == 1)
    calls[running].cancel()
    wait_until(lambda: slow.begun == [running, others[1]])
    assert slow.interrupted == [running]
    slow.go_on.set()
    assert calls[others[1]].result(SECONDS).error == others[1]


def test_calls_that_send_no_message_are_counted_and_left(
    serve: Callable[[Limits], Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MOST_CALLS", 3)
    later = 0.0
    clock = types.SimpleNamespace(monotonic=lambda: time.monotonic() + later, sleep=time.sleep)
    monkeypatch.setattr(reading, "time", clock)
    slow, channel = serve(Limits())
    held = threading.Event()

    def nothing() -> Iterator[bytes]:
        held.wait(SECONDS)
        yield from ()

    calls = [channel.stream_unary(RESOLVE).future(nothing()) for _ in range(3)]
    silent = [channel.stream_unary(HEALTH).future(nothing()) for _ in range(10)]
    wait_until(lambda: slow.open_calls(RESOLVE) == 3)
    refused = channel.unary_unary(RESOLVE).future(b"")
    assert refused.code() == Code.RESOURCE_EXHAUSTED
    assert (
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=SECONDS).status
        == 1
    )
    later = reading.READ_SECONDS
    assert [call.code() for call in calls] == [Code.CANCELLED] * 3
    held.set()
    for call in silent:
        call.cancel()


class Watched:
    """A call that watches the health, until it ends."""

    def __init__(self) -> None:
        self._ends: list[Callable[[], None]] = []
        self._is_active = True

    def add_callback(self, end: Callable[[], None]) -> bool:
        self._ends.append(end)
        return True

    def is_active(self) -> bool:
        return self._is_active

    def end(self) -> None:
        """Ends the call."""
        self._is_active = False
        for end in self._ends:
            end()

    def abort(self, code: grpc.StatusCode, text: str) -> None:
        raise PermissionError(code.name, text)


def _watch(health: Health, name: str) -> tuple[Watched, Iterator[Any]]:
    call = Watched()
    return call, health.Watch(health_pb2.HealthCheckRequest(service=name), cast(Any, call))


def test_nothing_is_kept_of_names_that_were_watched() -> None:
    health = Health()
    before = {name: len(kept) for name, kept in vars(health).items() if isinstance(kept, dict | set)}
    for index in range(100):
        (said,) = _watch(health, f"{index}")[1]
        assert said.status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    assert before == {name: len(kept) for name, kept in vars(health).items() if isinstance(kept, dict | set)}


def test_so_many_watch_the_health_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_service, "MOST_WATCHES", 3)
    health = Health()
    calls = [_watch(health, "") for _ in range(3)]
    assert [next(answers).status for _, answers in calls] == [1, 1, 1]
    with pytest.raises(PermissionError, match="RESOURCE_EXHAUSTED"):
        next(_watch(health, "")[1])
    call, answers = calls[0]
    call.end()
    assert list(answers) == []
    again = _watch(health, "")[1]
    assert next(again).status == 1
    health.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    assert next(again).status == 2


def _frame(kind: int, flags: int, stream: int, data: bytes) -> bytes:
    """A frame of HTTP/2."""
    return struct.pack(">I", len(data))[1:] + struct.pack(">BBI", kind, flags, stream) + data


def watcher_that_reads_nothing(port: int) -> socket.socket:
    """Begins to watch the health, with no window for answers."""
    call = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/grpc.health.v1.Health/Watch"),
        (":authority", "x"),
    )
    headers = (*call, ("content-type", "application/grpc"), ("te", "trailers"))
    fields = [b"%c%s" % (len(text), text.encode()) for pair in headers for text in pair]
    packed = b"".join(b"\0" + name + value for name, value in zip(fields[::2], fields[1::2], strict=True))
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + _frame(4, 0, 0, struct.pack(">HI", 4, 0))
        + _frame(1, 4, 1, packed)
        + _frame(0, 1, 1, bytes(5))
    )
    return connection


def test_a_watcher_that_reads_nothing_holds_up_nobody() -> None:
    """gRPC's own servicer sends with a lock that every answer needs, and so does its thread for events."""
    health = Health()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(64))
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    watchers = [watcher_that_reads_nothing(port) for _ in range(6)]
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            wait_until(lambda: len(health._watches) == 6)
            answers = iter(stub.Watch(health_pb2.HealthCheckRequest(), timeout=SECONDS))
            assert next(answers).status == 1
            for left in (6, 2):
                for one in watchers[left:]:
                    one.close()
                assert stub.Check(health_pb2.HealthCheckRequest(), timeout=SECONDS).status == 1
            wait_until(lambda: len(health._watches) == 3)
            health.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
            assert next(answers).status == 2
    finally:
        for one in watchers:
            one.close()
        server.stop(0).wait()


def test_work_goes_on_while_it_is_wanted() -> None:
    wanted = True
    with while_wanted(lambda: wanted):
        checkpoint()
        wanted = False
        time.sleep(0.05)
        with pytest.raises(Interrupted):
            checkpoint()
    checkpoint()


def _is_expanded(stub: Any) -> bool:
    """Whether a short request succeeds; the first may take too long, and the one before it may still go on."""
    try:
        return not stub.Expand(like_go({"spec": MEAN_OF_TWO}, ROWS), timeout=SECONDS).error
    except grpc.RpcError as error:
        if error.code() not in (Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED):
            raise
        return False


def test_the_service_ends_a_long_request_and_refuses_a_large_one(tmp_path: Path) -> None:
    with (tmp_path / "m.joblib").open("wb") as file:
        file.truncate(40 << 30)  # sparse: hashing it takes half a minute
    spec = f"""
ensemble: e
inputs: {{a: double}}
nodes:
  m: {{model: sklearn, uri: "{tmp_path}/m.joblib", sha256: "{"0" * 64}", inputs: [a], outputs: {{y: double}}}}
"""
    flags = ["--request-seconds", "1", "--max-requests", "1", "--max-message-bytes", "100000"]
    with (
        running_service("--serve-loopback-worker", *flags) as service,
        grpc.insecure_channel(service.address) as channel,
    ):
        stub = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
        wait_until(lambda: _is_expanded(stub))
        with pytest.raises(grpc.RpcError) as error:
            stub.Expand(like_go({"spec": spec}, ROWS), timeout=SECONDS)
        assert error.value.code() == Code.DEADLINE_EXCEEDED, error.value.details()
        assert "--request-seconds" in error.value.details()
        wait_until(lambda: _is_expanded(stub))
        with pytest.raises(grpc.RpcError) as error:
            stub.Expand(Request(namespace="x" * 100_001), timeout=SECONDS)
        assert error.value.code() == Code.RESOURCE_EXHAUSTED
        assert "dropped 'External'" in service.log
        assert "Traceback" not in service.log
