"""A real Triton Inference Server with models in Python, in an environment of its own, on a free port."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from beam_ensembles.handlers.open_inference.address import parse_address
from beam_ensembles.handlers.open_inference.failures import CallError
from beam_ensembles.handlers.open_inference.metadata import ask
from scripts.environments import locked_environment
from scripts.shell import log_path, stop, tail
from tests.support.patience import SECONDS
from tests.support.ports import free_ports

_MODEL = """\
import numpy as np
import triton_python_backend_utils as triton

class TritonPythonModel:
    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        given = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        try:
            answers = self._run(**given)
        except ValueError as error:
            return triton.InferenceResponse(error=triton.TritonError(str(error), triton.TritonError.INVALID_ARG))
        return triton.InferenceResponse([triton.Tensor(name, values) for name, values in answers.items()])

    def _run(self, %(arguments)s):
        %(body)s
"""


@dataclasses.dataclass(frozen=True)
class TritonModel:
    """A model in Python.

    Attributes:
        inputs: What it takes: datatype (``FP32``; ``STRING`` for BYTES) and shape by name.
        outputs: What it gives.
        body: The body of a function of its inputs that gives a dictionary of its outputs; a ``ValueError`` is refused.
        batch: The most rows that Triton may put together; 0 for a model whose shapes hold the rows.
    """

    inputs: Mapping[str, tuple[str, Sequence[int]]]
    outputs: Mapping[str, tuple[str, Sequence[int]]]
    body: str
    batch: int = 64

    def write(self, folder: Path, name: str) -> None:
        """Writes it into a model repository."""
        place = folder / name / "1"
        place.mkdir(parents=True)
        tensors = [_tensors("input", self.inputs), _tensors("output", self.outputs)]
        config = [f'name: "{name}"', 'backend: "python"', f"max_batch_size: {self.batch}", *tensors]
        (folder / name / "config.pbtxt").write_text("\n".join(config), encoding="utf-8")
        source = _MODEL % {"arguments": ", ".join(self.inputs), "body": self.body}
        (place / "model.py").write_text(source, encoding="utf-8")


def _tensors(kind: str, tensors: Mapping[str, tuple[str, Sequence[int]]]) -> str:
    return "\n".join(
        f'{kind} {{ name: "{name}" data_type: TYPE_{datatype} dims: {list(shape)} }}'
        for name, (datatype, shape) in tensors.items()
    )


@dataclasses.dataclass(frozen=True)
class Triton:
    """A server that runs.

    Attributes:
        port: Where it listens.
    """

    port: int

    def uri(self, model: str) -> str:
        """Returns the address of a model."""
        return f"grpc://localhost:{self.port}/{model}"


@contextlib.contextmanager
def running_triton(folder: Path, models: Mapping[str, TritonModel]) -> Iterator[Triton]:
    """Runs a server until the block ends; skips the test where this machine cannot run one.

    Args:
        folder: An empty folder.
        models: Its models by name.
    """
    repository, backends = folder / "models", folder / "backends"
    for name, model in models.items():
        model.write(repository, name)
    program, env = _installed(backends)
    (port,) = free_ports(1)
    command = [str(program), f"--model-repository={repository}", f"--backend-directory={backends}"]
    flags = ["--allow-http=false", "--allow-metrics=false", "--grpc-address=127.0.0.1", f"--grpc-port={port}"]
    log = log_path("triton")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, *flags], stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True
        )
    try:
        _wait(process, Triton(port), list(models), log)
        yield Triton(port)
    finally:
        stop(process)


def _installed(backends: Path) -> tuple[Path, dict[str, str]]:
    """Puts the Python backend together; gives the program and its environment."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    environment = locked_environment("triton")
    packages = environment / "lib" / f"python{version}" / "site-packages"
    server = packages / "pytriton" / "tritonserver"
    shutil.copytree(server / "backends", backends)
    stub = server / "python_backend_stubs" / version / "triton_python_backend_stub"
    shutil.copy(stub, backends / "python")
    libraries = [str(packages / "nvidia_pytriton.libs"), str(sysconfig.get_config_var("LIBDIR"))]
    # The backend takes the packages of the Python that it finds first.
    path = os.pathsep.join((str(environment / "bin"), os.environ.get("PATH", "")))
    env = os.environ | {"LD_LIBRARY_PATH": ":".join(libraries), "PATH": path}
    needed = subprocess.run(["ldd", stub], env=env, capture_output=True, text=True, check=False).stdout
    lacking = [line.split()[0] for line in needed.splitlines() if "not found" in line]
    if lacking:
        pytest.skip(f"Triton's Python backend needs {', '.join(lacking)}, which this machine does not have")
    return server / "bin" / "tritonserver", env


def _wait(process: subprocess.Popen[bytes], server: Triton, models: Sequence[str], log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    waiting = list(models)
    while waiting:
        assert process.poll() is None, tail(log)
        assert time.monotonic() < deadline, tail(log)
        try:
            ask(parse_address(server.uri(waiting[-1])), {}, 1.0)
            waiting.pop()
        except CallError:
            time.sleep(0.1)
