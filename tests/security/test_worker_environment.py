"""Workers get what Beam and the frameworks need of the environment, and no secrets of the service."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from apache_beam.portability.api import beam_fn_api_pb2

from beam_ensembles_service.settings import Settings
from beam_ensembles_service.workers.environment import worker_environment
from beam_ensembles_service.workers.pool import WorkerPool
from tests.support.patience import wait_until
from tests.support.processes import children
from tests.support.runners import MODULE

SECRETS = {
    "DATABASE_URL": "postgres://secret", "AWS_SECRET_ACCESS_KEY": "secret", "HF_TOKEN": "secret",
    "GOOGLE_APPLICATION_CREDENTIALS": "/secret", "BEAM_ENSEMBLES_TOKEN_FILE": "/secret", "MY_KEY": "secret",
    "BEAM_ENSEMBLES_TLS_KEY": "/secret", "KUBERNETES_SERVICE_HOST": "secret", "SSH_AUTH_SOCK": "/secret",
}  # fmt: skip
NEEDED = {
    "OMP_WAIT_POLICY": "passive", "CUDA_VISIBLE_DEVICES": "", "HTTPS_PROXY": "http://proxy:1", "LC_ALL": "C.UTF-8",
    "TF_CPP_MIN_LOG_LEVEL": "3", "HF_HOME": "/models/hf", "BEAM_ENSEMBLES_CACHE": "/tmp/cache", "TZ": "UTC",
    "TOKENIZERS_PARALLELISM": "false", "MALLOC_ARENA_MAX": "2",
}  # fmt: skip


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | NEEDED).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("environment")
def test_what_is_needed_is_passed_and_nothing_else() -> None:
    found = worker_environment()
    assert not found.keys() & SECRETS.keys()
    assert {name: found[name] for name in NEEDED} == NEEDED
    assert found["PATH"] == os.environ["PATH"]


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("settings", "passed"),
    [
        (Settings(allow_secret=("env:MY_*", "file:/x")), {"MY_KEY"}),
        (Settings(worker_env=("DATABASE_URL", "HF_*")), {"DATABASE_URL", "HF_TOKEN"}),
        (Settings(trust=("s3://models/",)), {"AWS_SECRET_ACCESS_KEY"}),
        (Settings(trust=("gs://models/",)), {"GOOGLE_APPLICATION_CREDENTIALS"}),
    ],
)
def test_what_the_service_was_told_is_passed_too(settings: Settings, passed: set[str]) -> None:
    found = worker_environment(settings.passed_variables, settings.trust)
    assert found.keys() & SECRETS.keys() == passed


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs Linux's /proc")
def test_processes_of_a_pool_do_not_have_the_rest() -> None:
    serve = [sys.executable, "-m", "beam_ensembles.cli.main", "workers", "--port=0", "--worker-env=MY_*"]
    pipe, env = subprocess.PIPE, os.environ | SECRETS | NEEDED
    with contextlib.ExitStack() as opened:
        pool = opened.enter_context(subprocess.Popen(serve, stdout=pipe, text=True, env=env))
        opened.callback(pool.kill)
        assert pool.stdout is not None
        ask = [sys.executable, "-m", MODULE, pool.stdout.readline().split()[-1]]
        runner = opened.enter_context(subprocess.Popen(ask, stdout=pipe, text=True))
        opened.callback(runner.kill)
        assert runner.stdout is not None
        assert runner.stdout.readline().strip().isdigit()
        descendants = [pid for child in children(pool.pid) for pid in (child, *children(child))]
        assert len(descendants) == 2
        for pid in descendants:
            found = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            names = {one.partition(b"=")[0].decode() for one in found}
            assert names & SECRETS.keys() == {"MY_KEY"}
            assert names >= NEEDED.keys()


def test_boot_gets_no_more_than_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program, noted = tmp_path / "boot", tmp_path / "noted"
    program.write_text(f"#!/bin/sh\nenv > {noted}.new; mv {noted}.new {noted}\n")
    program.chmod(0o755)
    pool = WorkerPool(boot_program=str(program), environment={"PATH": os.environ["PATH"], "MY_KEY": "x"})
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id="w")
    request.control_endpoint.url = "localhost:1"
    call: Any = types.SimpleNamespace(peer=lambda: "ipv4:127.0.0.1:5")
    assert not pool.StartWorker(request, call).error
    wait_until(noted.exists)
    names = {line.partition("=")[0] for line in noted.read_text().splitlines()}
    assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == {"PATH", "MY_KEY", "WORKER_ID"}
    pool.stop()
