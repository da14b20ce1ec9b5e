"""``beam-ensembles metrics``: what it says of places where no runner is, and how it lists jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest
from grpc_health.v1 import health, health_pb2_grpc

from beam_ensembles.cli.main import main
from tests.support.ports import free_ports
from tests.support.web_server import content, status, web_server

Read = pytest.CaptureFixture[str]


@pytest.fixture
def other_server() -> Iterator[str]:
    """A gRPC server that answers, but not Beam's job service."""
    server = grpc.server(futures.ThreadPoolExecutor(2))
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


def test_a_server_that_is_no_job_server_answers_all_the_same(other_server: str, capsys: Read) -> None:
    assert main(["metrics", "--job-endpoint", other_server]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"beam-ensembles metrics: '{other_server}' answers, but it is not a job server; ")
    assert said.count("\n") == 1


def test_where_nobody_listens_the_cause_is_short(capsys: Read) -> None:
    url = f"http://localhost:{free_ports(1)[0]}"
    assert main(["metrics", "--flink", url]) == 1
    assert capsys.readouterr().err == (
        f"beam-ensembles metrics: no Flink cluster answers at '{url}': Connection refused\n"
    )


def test_a_server_that_is_no_flink_answers_all_the_same(capsys: Read) -> None:
    answers = {"; give the address of its REST API\n": content(b"<html>"), ": 404 Not Found\n": status(404)}
    for said, answer in answers.items():
        with web_server({"/jobs/overview": answer}) as server:
            code = main(["metrics", "--flink", server.url])
        assert code == 1
        error = capsys.readouterr().err
        assert error.endswith(f"'{server.url}' answers, but not as a Flink cluster does{said}")
        assert error.count("\n") == 1


@pytest.mark.parametrize("url", ["ftp://x", "localhost:8081", "http://", "http://[", "http://x:99999"])
def test_what_is_no_url_of_a_cluster_is_a_usage_error(url: str, capsys: Read) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["metrics", "--flink", url])
    assert exit_.value.code == 2
    assert f"'{url}' is not a URL such as http://localhost:8081" in capsys.readouterr().err


def test_jobs_are_listed_without_blanks_at_the_end(capsys: Read) -> None:
    long = "a name " * 20 + "end"
    jobs = [
        {"jid": "a1", "name": "first", "state": "FINISHED", "start-time": 1},
        {"jid": "b22", "name": long, "state": "RUNNING", "start-time": 2},
    ]
    with web_server({"/jobs/overview": content(json.dumps({"jobs": jobs}).encode())}) as server:
        code = main(["metrics", "--flink", server.url])
    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "job  state     name",
        "a1   FINISHED  first",
        f"b22  RUNNING   {long}",
    ]
