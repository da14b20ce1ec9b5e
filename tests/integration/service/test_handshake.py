"""Workers of other versions than the service's, as processes of their own, on real Prism: what the caller is told."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.external_transform_provider import ExternalTransformProvider

import beam_ensembles
from scripts.layout import ROOT, UV
from scripts.processes import running, serving
from scripts.shell import log_path, run
from tests.support.expansion_requests import MEAN_OF_TWO
from tests.support.patience import SECONDS
from tests.support.ports import free_ports
from tests.support.service import running_service

OURS = r"^beam:schematransform:io.github.beamensembles:([\w-]+):(\w+)$"
OTHER_BEAM = "2.76.0"


@pytest.fixture
def workers_of_another_version(tmp_path: Path) -> Iterator[str]:
    """The address of a pool whose workers are this project under another number."""
    for folder in ("python_transforms/beam_ensembles", "expansion_service/beam_ensembles_service"):
        shutil.copytree(
            ROOT / folder, tmp_path / Path(folder).name, ignore=shutil.ignore_patterns("__pycache__")
        )
    init = tmp_path / "beam_ensembles" / "__init__.py"
    number = f'"{beam_ensembles.__version__}"'
    init.write_text(init.read_text(encoding="utf-8").replace(number, '"9.9.9"'), encoding="utf-8")
    command = [sys.executable, "-m", "beam_ensembles_service", "--port", "0", "--serve-loopback-worker"]
    ready = re.compile(r"beam-ensembles 9\.9\.9 listening on (\S+:\d+)")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with serving([*command, "--stop-with-stdin"], ready, log=log_path("other-workers"), env=env) as address:
        yield address


@pytest.fixture
def workers_without_this_project(tmp_path: Path) -> Iterator[str]:
    """The address of Beam's own pool, in an environment with another Beam and nothing of this project."""
    environment, log = tmp_path / "environment", log_path("other-beam")
    env = {**os.environ, "UV_SYSTEM_CERTS": "true"}
    run([UV, "venv", "--python", sys.executable, environment], log=log, env=env)
    run([UV, "pip", "install", "--python", environment, f"apache-beam=={OTHER_BEAM}"], log=log, env=env)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["PATH"] = f"{environment / 'bin'}{os.pathsep}{env['PATH']}"
    port = free_ports(1)[0]
    program = [environment / "bin" / "python", "-m", "apache_beam.runners.worker.worker_pool_main"]
    with running([*program, "--service_port", str(port)], log=log_path("other-pool"), env=env):
        wait_for(f"localhost:{port}")
        yield f"localhost:{port}"


def wait_for(address: str) -> None:
    """Waits until somebody takes connections."""
    import grpc

    with grpc.insecure_channel(address) as channel:
        grpc.channel_ready_future(channel).result(timeout=SECONDS)


def failure(workers: str, job_service: str) -> str:
    """Returns what a pipeline fails with whose Python stages run with these workers."""
    flags = ["--runner=PortableRunner", f"--job_endpoint={job_service}", "--environment_type=LOOPBACK"]
    with running_service("--environment-type", "EXTERNAL", "--environment-config", workers) as service:
        pipeline = beam.Pipeline(options=PipelineOptions(flags))
        provider: Any = ExternalTransformProvider(service.address, urn_pattern=OURS)
        rows = pipeline | beam.Create([1.0, 2.0]) | beam.Map(lambda a: beam.Row(a=float(a), b=2.0))
        _ = rows | provider.RunEnsembleV1(spec=MEAN_OF_TWO)
        with pytest.raises(RuntimeError) as failed:
            pipeline.run().wait_until_finish()
    return str(failed.value)


def test_another_version_of_this_project(workers_of_another_version: str, prism: str) -> None:
    said = failure(workers_of_another_version, prism)
    assert "ensemble 'pair' was expanded with beam-ensembles " in said
    assert "but this worker has beam-ensembles 9.9.9: the service and its workers must have the same" in said
    assert "Traceback" not in said


def test_another_beam_without_this_project(workers_without_this_project: str, prism: str) -> None:
    said = failure(workers_without_this_project, prism)
    sentence = rf"but this worker has no beam-ensembles and Beam {re.escape(OTHER_BEAM)}: the service and its workers"
    assert re.search(sentence, said)
    assert "ModuleNotFoundError" not in said
