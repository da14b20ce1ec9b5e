"""Workers get what Beam and the frameworks need of the environment, and no secrets of the service."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from beam_ensembles_service.settings import Settings
from beam_ensembles_service.worker_environment import worker_environment
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
@pytest.mark.parametrize("boot", [False, True], ids=["forked", "booted"])
def test_processes_of_a_pool_do_not_have_the_rest(boot: bool, tmp_path: Path) -> None:
    program = tmp_path / "boot"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    serve = [sys.executable, "-m", "beam_ensembles.cli.main", "workers", "--port=0", "--stop-with-stdin"]
    flags = ["--worker-env=MY_*", *(["--boot", str(program)] if boot else [])]
    pipe, env = subprocess.PIPE, os.environ | SECRETS | NEEDED
    with subprocess.Popen([*serve, *flags], stdin=pipe, stdout=pipe, text=True, env=env) as pool:
        assert pool.stdout is not None
        address = pool.stdout.readline().split()[-1]
        with subprocess.Popen(
            [sys.executable, "-m", MODULE, address], stdin=pipe, stdout=pipe, text=True
        ) as runner:
            assert runner.stdout is not None
            assert runner.stdout.readline().strip().isdigit()
            descendants = [pid for child in children(pool.pid) for pid in (child, *children(child))]
            assert len(descendants) == 2
            for pid in descendants:
                found = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                names = {one.partition(b"=")[0].decode() for one in found}
                assert names & SECRETS.keys() == {"MY_KEY"}
                assert names >= NEEDED.keys()
            runner.kill()
        pool.kill()
