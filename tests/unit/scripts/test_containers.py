"""Which engine is taken, and what the images' files say twice."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from beam_ensembles import __version__
from beam_ensembles_service.requests.environment import WORKER_IMAGE
from scripts.containers import engine, images, stand_ins
from scripts.containers.engine import ENGINE_VARIABLE, Engine, NoEngine
from scripts.containers.flink_stand_ins import IMAGES
from scripts.containers.tests import arguments
from scripts.layout import REQUIREMENTS, ROOT

POM = ROOT / "scripts" / "flink" / "pom.xml"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PIN = re.compile(r"^([\w.-]+)==(\S+)(.*?) \\?$", re.MULTILINE)
NOBODY = "unix:///no/such/docker.sock"


def test_without_an_engine_the_test_says_so_and_passes() -> None:
    env = {name: value for name, value in os.environ.items() if name != ENGINE_VARIABLE}
    command = [sys.executable, "-m", "scripts.containers.tests"]
    done = subprocess.run(
        command, cwd=ROOT, env={**env, "DOCKER_HOST": NOBODY}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "SKIP: no container engine (none answers, and BEAM_ENSEMBLES_ENGINE=private "
    )


def test_without_an_engine_no_image_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", NOBODY)
    monkeypatch.delenv(ENGINE_VARIABLE, raising=False)
    assert images.main(["service"]) == 1
    assert "no container engine (none answers" in capsys.readouterr().out


def test_a_target_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        images.main(["worker-tpu"])
    assert "there is no target 'worker-tpu'; there are service, worker, worker-gpu" in capsys.readouterr().err


def test_a_private_engine_is_for_root_on_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", NOBODY)
    monkeypatch.setenv(ENGINE_VARIABLE, "private")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoEngine, match="needs root on Debian"), engine.engine():
        pass


def test_an_engine_that_cannot_start_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a container that may mount nothing."""
    programs = tmp_path / "bin"
    programs.mkdir()
    dockerd = programs / "dockerd"
    dockerd.write_text(
        "#!/bin/sh\necho 'failed to mount: operation not permitted' >&2\nexit 1\n", encoding="utf-8"
    )
    dockerd.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_HOST", NOBODY)
    monkeypatch.setenv(ENGINE_VARIABLE, "private")
    monkeypatch.setattr(engine, "_install", lambda: None)
    with pytest.raises(NoEngine, match=r"does not start: .*failed to mount"), engine.engine():
        pass


def test_a_private_engine_has_the_machines_network_only(tmp_path: Path) -> None:
    assert Engine({}).network == []
    assert Engine({}, tmp_path).network == ["--network=host"]


def test_only_stand_ins_go_without_the_indexes_of_others(tmp_path: Path) -> None:
    real, private = arguments(Engine({})), arguments(Engine({}, tmp_path))
    assert real == {}
    assert private == {**private, **stand_ins.ARGUMENTS, "TORCH_INDEX": "", "NVIDIA_INDEX": ""}


def test_the_images_have_this_beam() -> None:
    assert f"ARG BEAM_VERSION={importlib.metadata.version('apache-beam')}\n" in DOCKERFILE


def test_every_default_names_one_image() -> None:
    compose = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    assert images.image("worker") == WORKER_IMAGE
    assert f":-{WORKER_IMAGE}}}" in compose
    assert f":-{images.image('service')}}}" in compose
    runner = re.search(r"runners-flink-1.19</artifactId>\s*<version>(\S+)<", POM.read_text(encoding="utf-8"))
    assert runner is not None
    assert f":-apache/beam_flink1.19_job_server:{runner[1]}}}" in compose
    assert IMAGES["JOB_SERVER_IMAGE"].endswith(f":{runner[1]}")


def test_the_versions_for_gpus_are_those_that_are_tested() -> None:
    gpu, dev = (
        {pin[:2] for pin in PIN.findall((REQUIREMENTS / lock).read_text(encoding="utf-8"))}
        for lock in ("gpu.txt", "dev.txt")
    )
    names = {name for name, _ in dev}
    assert {(name, version) for name, version in gpu if name in names} <= dev
    assert {name for name, _ in gpu} - names <= {"onnxruntime-gpu", "nvidia-nccl-cu12"}


def test_what_the_images_install_is_what_the_project_asks_for() -> None:
    command = [sys.executable, "scripts/image_dependencies.py"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    made = tomllib.loads(printed)["project"]
    assert made["dependencies"] == project["dependencies"]
    assert made["optional-dependencies"] == {
        extra: packages for extra, packages in project["optional-dependencies"].items() if extra != "dev"
    }
    assert made["version"] == __version__


@pytest.mark.parametrize(
    ("extras", "index", "first"),
    [
        ("all", "https://torch.example", ["torch", "torchvision"]),
        ("sklearn pytorch", "https://torch.example", ["torch", "torchvision"]),
        ("sklearn onnx", "https://torch.example", []),
        ("all", "", []),
    ],
)
def test_pytorch_of_its_own_index_goes_in_first(
    extras: str, index: str, first: list[str], tmp_path: Path
) -> None:
    """With a ``uv`` that only notes how it is called: that index cannot be reached where these tests run."""
    noting = tmp_path / "uv"
    noting.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    noting.chmod(0o755)
    script = [
        ROOT / "scripts" / "install_extras.sh",
        REQUIREMENTS / "dev.txt",
        extras,
        "--torch-index",
        index,
    ]
    env = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    called = subprocess.run(script, env=env, capture_output=True, text=True, check=True).stdout.splitlines()
    *before, last = called
    assert [re.findall(r"(\w+)==", call) for call in before] == ([first] if first else [])
    assert all(f"--no-deps --index-url {index} " in call for call in before)
    wanted = " ".join(f"--extra {extra}" for extra in extras.split())
    assert last.endswith(f"--constraint {REQUIREMENTS / 'dev.txt'} -r pyproject.toml {wanted}")
