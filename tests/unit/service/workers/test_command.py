"""``beam-ensembles workers``: its flags, and the pool as a process."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from beam_ensembles import logs
from beam_ensembles_service.workers import command as pool
from tests.support import runners
from tests.support.patience import SECONDS, wait_until
from tests.support.processes import children


def run(*flags: str) -> int:
    parser = argparse.ArgumentParser()
    pool.add_arguments(parser)
    return pool.run(parser.parse_args(flags))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--port=70000"], "--port must be from 0 to 65535, not 70000"),
        (["--notice-seconds=0"], "--notice-seconds must be more than 0, not 0.0"),
        (["--stage-processes=x"], "--stage-processes must be a whole number from 0 to 256, not 'x'"),
        (["--notice-seconds=nan"], "--notice-seconds must be more than 0, not nan"),
        (["--max-workers=0"], "--max-workers must be from 1 to 10000, not 0"),
        (
            ["--host=0.0.0.0"],
            "--host 0.0.0.0 is open to the network: add TLS (--tls-cert, --tls-key), or --insecure to let in everybody",
        ),
        (["--boot=/no/such/boot"], "--boot: there is no program '/no/such/boot'"),
        (["--state=/tmp"], "--state has no meaning without --when-a-worker-dies stop-runner"),
        (
            ["--when-a-worker-dies=stop-runner", "--state=/dev/null/state"],
            "--state: '/dev/null/state' cannot be made: Not a directory",
        ),
    ],
)
def test_wrong_flags_are_one_sentence(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*flags) == 2
    assert capsys.readouterr().err == f"beam-ensembles workers: {said}\n"


def test_a_port_in_use_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(f"--port={port}") == 1
    assert capsys.readouterr().err == (
        f"beam-ensembles workers: cannot listen on 127.0.0.1:{port}: address already in use\n"
    )


@pytest.mark.parametrize(("flags", "told"), [([], None), (["--log-rows"], "1")])
def test_its_workers_log_rows_on_request(
    flags: list[str], told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the pool's environment has its workers inherit."""
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert run(f"--port={taken.getsockname()[1]}", *flags) == 1
    assert os.environ.get(logs.LOG_ROWS_VARIABLE) == told


@contextlib.contextmanager
def process(*command: str, stderr: int | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs a program; gives it with the first line that it prints."""
    with subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
    ) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline()
        finally:
            running.kill()


@pytest.mark.skipif(not os.path.isdir("/proc/net"), reason="needs Linux's /proc")
def test_a_runner_that_does_not_notice_its_workers_death_is_ended() -> None:
    serve = ["-m", "beam_ensembles.cli.main", "workers", "--port=0", "--stop-with-stdin"]
    flags = ["--when-a-worker-dies=stop-runner", "--notice-seconds=0.5"]
    with process(*serve, *flags) as (workers, line):
        listening = re.fullmatch(r"beam-ensembles \S+ workers on (\S+:\d+)\n", line)
        assert listening
        with (
            process("-m", runners.MODULE, listening[1]) as (runner, _),
            grpc.insecure_channel(listening[1]) as channel,
        ):
            (fork_server,) = children(workers.pid)
            (worker,) = children(fork_server)
            os.kill(worker, signal.SIGKILL)
            assert runner.wait(SECONDS) == -signal.SIGTERM
            health = health_pb2_grpc.HealthStub(channel)
            asked, serving = (
                health_pb2.HealthCheckRequest(service="runner"),
                health_pb2.HealthCheckResponse.SERVING,
            )
            wait_until(lambda: health.Check(asked).status == serving)
        assert workers.stdin is not None
        workers.stdin.close()
        assert workers.wait(SECONDS) == 0


@pytest.mark.skipif(not os.path.isdir("/proc/net"), reason="needs Linux's /proc")
def test_a_pool_looks_after_the_workers_of_the_one_that_died_before_it(tmp_path: Path) -> None:
    serve = ["-m", "beam_ensembles.cli.main", "workers", "--port=0", "--stop-with-stdin"]
    flags = ["--when-a-worker-dies=stop-runner", "--notice-seconds=0.5", f"--state={tmp_path}"]
    with contextlib.ExitStack() as opened:
        with process(*serve, *flags) as (workers, line):
            runner, _ = opened.enter_context(process("-m", runners.MODULE, line.split()[-1]))
            wait_until(lambda: '"w"' in (tmp_path / "workers.json").read_text())
            workers.kill()
            workers.wait()
        assert runner.poll() is None
        with process(*serve, *flags):
            assert runner.wait(SECONDS) == -signal.SIGTERM


def test_its_log_is_json_lines_on_request() -> None:
    serve = ["-m", "beam_ensembles.cli.main", "workers", "--port=0", "--stop-with-stdin", "--log-format=json"]
    with process(*serve, stderr=subprocess.PIPE) as (workers, line):
        with grpc.insecure_channel(line.split()[-1]) as channel:
            request = beam_fn_api_pb2.StartWorkerRequest(worker_id="w")
            assert beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel).StartWorker(request).error
        _, said = workers.communicate(timeout=SECONDS)
    (record,) = map(json.loads, said.splitlines())
    assert record["level"] == "WARNING"
    assert record["message"] == "worker 'w' was not started: the request names no control endpoint"
