"""Runners that answer ``beam-ensembles metrics`` with anything: one sentence in little time, never a traceback."""

from __future__ import annotations

import contextlib
import json
import time
import tracemalloc
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from apache_beam.portability.api import beam_job_api_pb2, beam_job_api_pb2_grpc, metrics_pb2

from beam_ensembles.cli.main import main
from beam_ensembles.metrics import flink
from beam_ensembles.metrics.job_server import MOST_BYTES
from tests.support.web_server import Answer, content, web_server

Read = pytest.CaptureFixture[str]

SUM = "beam:metric:user:sum_int64:v1"
DISTRIBUTION = "beam:metric:user:distribution_int64:v1"
FORGED = "\x1b[2J\u202eforged\nline"
JOB = {"jid": "a", "name": "n", "state": "s", "start-time": 1}


def _overview(**changes: Any) -> bytes:
    return json.dumps({"jobs": [JOB, JOB | {"jid": "b"} | changes]}).encode()


def _accumulators(value: Any) -> bytes:
    return json.dumps({"user-task-accumulators": [{"name": "__metricscontainers", "value": value}]}).encode()


def _metric(payload: str, urn: str = SUM, name: str = "num_inferences") -> bytes:
    labels = {"NAMESPACE": "e/n", "NAME": name, "PTRANSFORM": "p"}
    one = {"urn": urn, "type": urn.replace("metric:user", "metrics"), "payload": payload, "labels": labels}
    return _accumulators(json.dumps({"metrics": {"attempted": [one]}}))


def _long(data: bytes) -> bytes:
    """Returns the first field of a message."""
    length, rest = [], len(data)
    while rest > 0x7F:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    return b"\n" + bytes([*length, rest]) + data


def _asked(arguments: list[str], capsys: Read) -> tuple[int, str]:
    began = time.process_time()
    code = main(["metrics", *arguments])
    assert time.process_time() - began < 20
    said = capsys.readouterr()
    text = said.out + said.err
    assert "Traceback" not in text
    assert text.replace("\n", "").isprintable()
    return code, said.err


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jobs": 5}',
        b'{"jobs": [1, 2]}',
        b'{"jobs": [{"jid": "a"}]}',
        _overview(**{"start-time": "x"}),
        _overview(jid=5),
        _overview(name=None),
        b'{"jobs": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"jobs": [' + b"9" * 6_000 + b"]}",
        b"[]",
        b"\xff",
        b"",
    ],
    ids=["number", "numbers", "keys", "time", "id", "name", "deep", "digits", "list", "bytes", "nothing"],
)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_jobs_that_are_none(answer: bytes, flags: list[str], capsys: Read) -> None:
    with web_server({"/jobs/overview": content(answer)}) as server:
        code, said = _asked(["--flink", server.url, *flags], capsys)
    assert code == 1
    assert said.endswith("answers, but not as a Flink cluster does; give the address of its REST API\n")


@pytest.mark.parametrize(
    "answer",
    [
        b'{"user-task-accumulators": 7}',
        b'{"user-task-accumulators": [{}]}',
        _accumulators(5),
        _accumulators("nonsense"),
        _accumulators("[" * 100_000),
        _metric("//////////////////8="),
    ],
    ids=["number", "keys", "value", "nonsense", "deep", "long"],
)
def test_metrics_that_are_none(answer: bytes, capsys: Read) -> None:
    pages = {"/jobs/overview": content(_overview()), "/jobs/a/accumulators": content(answer)}
    with web_server(pages) as server:
        code, said = _asked(["--flink", server.url, "--job", "a"], capsys)
    assert code == 1
    assert said.endswith("answers, but not as a Flink cluster does; give the address of its REST API\n")


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_names_of_jobs_write_nothing_else(flags: list[str], capsys: Read) -> None:
    with web_server({"/jobs/overview": content(_overview(name=FORGED, state="\ud800"))}) as server:
        assert _asked(["--flink", server.url, *flags], capsys)[0] == 0
        assert _asked(["--flink", server.url, "--job", FORGED], capsys)[0] == 1


def _endless(pause: float, block: bytes) -> Answer:
    def answer(request: Any) -> None:
        request.send_response(200)
        request.end_headers()
        with contextlib.suppress(OSError):
            while True:
                request.wfile.write(block)
                time.sleep(pause)

    return answer


def test_an_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch, capsys: Read) -> None:
    monkeypatch.setattr(flink, "MOST_BYTES", 1 << 20)
    with web_server({"/jobs/overview": _endless(0.0, b"1" * 65_536)}) as server:
        code, said = _asked(["--flink", server.url], capsys)
    assert code == 1
    assert said.endswith("the answer has more than 1 MiB\n")


@pytest.mark.parametrize("inner", [False, True])
def test_an_answer_of_many_lists_is_measured_before_it_is_read(inner: bool, capsys: Read) -> None:
    """A list of three characters takes 64 bytes: an answer became forty times its size."""
    lists = "[" + "[]," * 5_000_000 + "[]]"
    jobs, metrics = (_overview(), _accumulators(lists)) if inner else (lists.encode(), b"")
    pages = {"/jobs/overview": content(jobs), "/jobs/a/accumulators": content(metrics)}
    with web_server(pages) as server:
        tracemalloc.start()
        try:
            code, said = _asked(["--flink", server.url, "--job", "a"], capsys)
            assert tracemalloc.get_traced_memory()[1] < 200_000_000
        finally:
            tracemalloc.stop()
    assert code == 1
    assert said.endswith("answers, but not as a Flink cluster does; give the address of its REST API\n")


def test_an_answer_byte_by_byte_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, capsys: Read) -> None:
    monkeypatch.setattr(flink, "_ALL_SECONDS", 1.0)
    with web_server({"/jobs/overview": _endless(0.1, b"1")}) as server:
        code, said = _asked(["--flink", server.url], capsys)
    assert code == 1
    assert said.endswith("within 1 seconds\n")


class Lying(beam_job_api_pb2_grpc.JobServiceServicer):  # type: ignore[misc]
    """A job server that answers what it is told to."""

    def __init__(self) -> None:
        self.jobs = beam_job_api_pb2.GetJobsResponse()
        self.found = beam_job_api_pb2.GetJobMetricsResponse()

    def GetJobs(self, request: Any, context: Any) -> Any:
        return self.jobs

    def GetJobMetrics(self, request: Any, context: Any) -> Any:
        return self.found


Served = tuple[Lying, list[str]]


@pytest.fixture
def job_server() -> Iterator[Served]:
    server = grpc.server(futures.ThreadPoolExecutor(2), options=[("grpc.max_send_message_length", -1)])
    lying = Lying()
    lying.jobs.job_info.add(job_id="a", job_name="n", state=4)
    beam_job_api_pb2_grpc.add_JobServiceServicer_to_server(lying, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield lying, ["--job-endpoint", f"127.0.0.1:{port}"]
    server.stop(None).wait()


def _info(payload: bytes, urn: str = SUM, name: str = "num_inferences", of: str = "e/n") -> Any:
    labels = {"NAMESPACE": of, "NAME": name, "PTRANSFORM": "p"}
    return metrics_pb2.MonitoringInfo(
        urn=urn, type=urn.replace("metric:user", "metrics"), payload=payload, labels=labels
    )


@pytest.mark.parametrize(
    "info",
    [
        _info(b"\xff" * 12),
        _info(b"\xff" * 50, DISTRIBUTION, "model_byte_size"),
        metrics_pb2.MonitoringInfo(urn=SUM, payload=b"\x01"),
    ],
    ids=["long", "distribution", "type"],
)
def test_a_job_server_with_metrics_that_are_none(info: Any, job_server: Served, capsys: Read) -> None:
    lying, flags = job_server
    lying.found.metrics.attempted.append(info)
    code, said = _asked([*flags, "--job", "a"], capsys)
    assert code == 1
    assert said.endswith("answers with metrics that cannot be read\n")


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_job_server_with_other_states_and_names(flags: list[str], job_server: Served, capsys: Read) -> None:
    lying, place = job_server
    lying.jobs.job_info.add(job_id=FORGED, job_name=FORGED, state=77)
    lying.found.metrics.attempted.append(_info(b"\x01", of=f"{FORGED}/{FORGED}"))
    assert _asked([*place, *flags], capsys)[0] == 0
    assert _asked([*place, *flags, "--job", "a"], capsys)[0] == 0
    assert _asked([*place, *flags, "--job", "other"], capsys)[0] == 1


def test_a_job_server_with_a_huge_answer(job_server: Served, capsys: Read) -> None:
    lying, place = job_server
    lying.jobs.job_info.add(job_id="b" * (MOST_BYTES + 1))
    code, said = _asked(place, capsys)
    assert code == 1
    assert "RESOURCE_EXHAUSTED" in said


@pytest.mark.parametrize(
    ("jobs", "metrics", "said"),
    [
        (b"\n\0" * (31 << 20), b"", "answers with more than 100000 jobs"),
        (b"\n\x05\n\x01j\x12\0", _long(b"\n\0" * (30 << 20)), "answers with more than 1000000 metrics"),
        (_long(b"\n\0" * (30 << 20)), b"", "knows no job 'j'"),
        (_long(b"\x08\0\x10\0" + bytes(1)) * 2 + b"\x12" + _long(bytes(1 << 20))[1:], b"", "cannot be read"),
    ],
    ids=["jobs", "metrics", "fields", "numbers"],
)
def test_a_job_server_with_millions_of_messages(jobs: bytes, metrics: bytes, said: str, capsys: Read) -> None:
    """Empty ones, of two bytes each, took minutes and gigabytes."""
    methods = {
        name: grpc.unary_unary_rpc_method_handler(lambda request, context, answer=answer: answer)
        for name, answer in {"GetJobs": jobs, "GetJobMetrics": metrics}.items()
    }
    service = beam_job_api_pb2.DESCRIPTOR.services_by_name["JobService"].full_name
    server = grpc.server(futures.ThreadPoolExecutor(1), options=[("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, methods)])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        code, text = _asked(["--job-endpoint", address, "--job", "j"], capsys)
    finally:
        server.stop(0)
    assert code == 1
    assert said in text


def test_many_ensembles_take_linear_time(job_server: Served, capsys: Read) -> None:
    lying, place = job_server
    lying.found.metrics.attempted.extend(_info(b"\x01", of=f"e{at}/n") for at in range(20_000))
    assert _asked([*place, "--job", "a", "--json"], capsys)[0] == 0
