"""compose.yaml: what Compose says of it, and the half of it whose images there are: workers and service."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.containers.engine import Engine
from scripts.layout import ROOT
from scripts.members import DIGITS
from tests.support.containers import wait_for_address
from tests.support.digits import answers
from tests.support.ports import free_ports

FILE = ROOT / "compose.yaml"
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def compose(engine: Engine) -> list[str]:
    """The command: the engine's own, or the program of that name."""
    if engine.ask("compose", "version") is not None:
        return ["docker", "compose"]
    return ["docker-compose"]


@pytest.fixture(scope="module")
def ports() -> dict[str, str]:
    """Free ports for both, and the folder that they see."""
    service, workers = free_ports(2)
    return {"SERVICE_PORT": str(service), "WORKERS_PORT": str(workers), "ENSEMBLES": str(DIGITS.folder)}


@pytest.fixture
def half(engine: Engine, compose: list[str], ports: dict[str, str]) -> Iterator[str]:
    """The workers and the service of the file: the service's address."""
    env = {**engine.env, **ports}
    command = [*compose, "--file", str(FILE), "--project-name", "beam-ensembles-test"]
    run(*command, "up", "--detach", "--no-build", "workers", "service", env=env)
    try:
        for port in ("WORKERS_PORT", "SERVICE_PORT"):
            wait_for_address(f"localhost:{ports[port]}")
        yield f"localhost:{ports['SERVICE_PORT']}"
    finally:
        run(*command, "down", "--volumes", env=env)


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


def test_go_with_workers_and_service_of_the_file(half: str, go: Any, expected: Any, tmp_path: Path) -> None:
    done = go(half, tmp_path / "scored.jsonl")
    assert done.returncode == 0, done.stderr
    assert answers(tmp_path / "scored.jsonl") == expected
