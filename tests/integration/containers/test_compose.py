"""compose.yaml: what Compose says of it, and all of it run, with stand-ins of public images on an engine of our own."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from beam_ensembles_service.workers.state import RUNNER_HANGS
from scripts.containers.engine import Engine
from scripts.containers.flink_stand_ins import IMAGES
from scripts.layout import ROOT
from scripts.members import DIGITS
from scripts.shell import log_path
from tests.support.containers import wait_for_address
from tests.support.digits import answers
from tests.support.patience import wait_until
from tests.support.ports import free_ports

FILE = ROOT / "compose.yaml"
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def compose(engine: Engine) -> list[str]:
    """The command: the engine's own, or the program of that name."""
    if engine.ask("compose", "version") is not None:
        return ["docker", "compose"]
    return ["docker-compose"]


@dataclasses.dataclass(frozen=True)
class Running:
    """What the file starts.

    Attributes:
        engine: Where.
        command: The program, with the file.
        ports: Those on which it listens, by the file's variables.
    """

    engine: Engine
    command: tuple[str, ...]
    ports: Mapping[str, int]

    def address(self, variable: str) -> str:
        """Returns the address of a port."""
        return f"localhost:{self.ports[variable]}"

    def inside(self, service: str, *words: str) -> None:
        """Runs a program in a service's container."""
        assert self.engine.ask("exec", self.container(service), *words) is not None

    def restarts(self, service: str) -> int:
        """Returns how often a service's container was started again."""
        return int(self.engine.ask("inspect", "--format", "{{.RestartCount}}", self.container(service)) or 0)

    def container(self, service: str) -> str:
        """Returns the id of a service's container."""
        env = {**self.engine.env, "ENSEMBLES": str(DIGITS.folder)}
        return run(*self.command, "ps", "--quiet", service, env=env).strip()

    def wait_until_flink_has(self, task_managers: int) -> None:
        """Waits until so many task managers have registered."""
        url = f"http://{self.address('FLINK_PORT')}/taskmanagers"

        def has_them() -> bool:
            with contextlib.suppress(OSError), urllib.request.urlopen(url) as answer:
                return len(json.load(answer)["taskmanagers"]) == task_managers
            return False

        wait_until(has_them, f"Flink has {task_managers} task managers")


@pytest.fixture(scope="module")
def whole(engine: Engine, compose: list[str]) -> Iterator[Running]:
    """All of the file on free ports."""
    names = ("SERVICE_PORT", "WORKERS_PORT", "FLINK_PORT", "FLINK_RPC_PORT", "JOB_PORT", "ARTIFACT_PORT")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    stand_ins = IMAGES if engine.network else {}
    given = {name: str(port) for name, port in ports.items()} | stand_ins | {"ENSEMBLES": str(DIGITS.folder)}
    env = {**engine.env, **given}
    command = (*compose, "--file", str(FILE), "--project-name", "beam-ensembles-test")
    run(*command, "up", "--detach", "--no-build", env=env)
    running = Running(engine, command, ports)
    try:
        for port in ("WORKERS_PORT", "SERVICE_PORT", "JOB_PORT"):
            wait_for_address(running.address(port))
        running.wait_until_flink_has(1)
        yield running
    finally:
        log_path("compose").write_text(run(*command, "logs", "--no-color", env=env), encoding="utf-8")
        run(*command, "down", "--timeout=2", "--volumes", env=env)


def run(*command: str, env: Any) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_compose_takes_the_file(engine: Engine, compose: list[str]) -> None:
    env = {**engine.env, "ENSEMBLES": "/models"}
    parsed = yaml.safe_load(run(*compose, "--file", str(FILE), "config", env=env))
    assert set(parsed["services"]) == {"jobmanager", "taskmanager", "jobserver", "workers", "service"}
    assert {one["network_mode"] for one in parsed["services"].values()} == {"host"}


def test_it_says_what_it_needs_to_be_told(engine: Engine, compose: list[str]) -> None:
    env = {name: value for name, value in engine.env.items() if name != "ENSEMBLES"}
    done = subprocess.run(
        [*compose, "--file", str(FILE), "config"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "names the folder of the ensemble files and their models" in done.stderr


def test_go_on_all_of_the_file(whole: Running, go: Any, expected: Any, tmp_path: Path) -> None:
    done = go(whole.address("SERVICE_PORT"), tmp_path / "scored.jsonl", runner=whole.address("JOB_PORT"))
    assert done.returncode == 0, done.stderr
    assert answers(tmp_path / "scored.jsonl") == expected


def test_a_task_manager_that_hangs_is_started_again(whole: Running) -> None:
    """The pool's part, which says so by this file, is tested on a cluster without containers."""
    whole.inside("workers", "touch", f"/workers/{RUNNER_HANGS}")
    wait_until(lambda: whole.restarts("taskmanager"))
    whole.inside("workers", "rm", f"/workers/{RUNNER_HANGS}")
    whole.wait_until_flink_has(1)
