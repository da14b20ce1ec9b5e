"""Jobs for Dataflow, made by the examples' own programs with the flags of docs/deploy/dataflow.md, and never submitted.

Not real: there are no credentials, and no bucket. ``GOOGLE_APPLICATION_CREDENTIALS`` names no file, so a
program that wanted to ask Google for something would fail.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apache_beam.portability.api import beam_runner_api_pb2
from google.protobuf import text_format

from scripts import toolchains
from scripts.layout import BUILD, ROOT
from scripts.toolchains import go
from tests.support import dataflow_java

HERE = ROOT / "tests" / "integration" / "dataflow"
ENSEMBLE = HERE / "digits.yaml"
JOB, PIPELINE = "job.json", "pipeline.pb"
_GCP = "org.apache.beam.sdk.extensions.gcp"


@dataclasses.dataclass(frozen=True)
class Job:
    """What would be sent to Dataflow.

    Attributes:
        description: The job, as its API has it.
        pipeline: Beam's description of the pipeline, which is staged beside it.
    """

    description: Mapping[str, Any]
    pipeline: beam_runner_api_pb2.Pipeline

    @property
    def workers(self) -> Mapping[str, Any]:
        """The one pool of workers."""
        (pool,) = self.description["environment"]["workerPools"]
        return dict(pool)

    @property
    def containers(self) -> dict[str, Mapping[str, Any]]:
        """What each environment's id has for a container."""
        return {image["environmentId"]: image for image in self.workers["sdkHarnessContainerImages"]}

    @property
    def environments(self) -> dict[str, beam_runner_api_pb2.Environment]:
        """Beam's environments, by id."""
        return dict(self.pipeline.components.environments)

    def image_of(self, environment: str) -> str:
        """Returns the image that Beam's description names."""
        payload = self.environments[environment].payload
        return beam_runner_api_pb2.DockerPayload.FromString(payload).container_image

    def environments_of(self, step: str) -> set[str]:
        """Returns the environments of the steps whose name holds ``step``."""
        return {
            transform.environment_id
            for transform in self.pipeline.components.transforms.values()
            if transform.environment_id and step in transform.unique_name
        }


def python_job(flags: Sequence[str], folder: Path) -> Job:
    """Creates the job of ``examples/digits/pipeline.py``; Beam's Python SDK wants to see the input."""
    there = [f"--input={ENSEMBLE}" if flag.startswith("--input=") else flag for flag in flags]
    _run([sys.executable, HERE / "python_job.py", folder, *_with_test_ensemble(there)])
    return _read(folder)


def go_job(flags: Sequence[str], folder: Path) -> Job:
    """Creates the job of ``go_examples/cmd/digits``: Beam's Go SDK prints both parts of it."""
    program = BUILD / "dataflow" / "digits"
    go.build("./cmd/digits", program)
    printed = _run([program, *_with_test_ensemble(flags), "--dry_run=true"])
    messages = [ast.literal_eval(text) for text in re.findall(r'msg=(".*")$', printed, re.MULTILINE)]
    (job,) = [message for message in messages if message.startswith("{")]
    (pipeline,) = [message for message in messages if message.startswith("components:")]
    return Job(json.loads(job), text_format.Parse(pipeline, beam_runner_api_pb2.Pipeline()))


def java_job(flags: Sequence[str], folder: Path) -> Job:
    """Creates the job of ``java_examples/digits`` as a template, which it ends with an exception about."""
    instead_of_google = [
        f"--pathValidatorClass={_GCP}.storage.NoopPathValidator",
        f"--credentialFactoryClass={_GCP}.auth.NoopCredentialFactory",
        "--stagerClass=io.github.beamensembles.tests.KeptStager",
        f"--templateLocation={folder / JOB}",
    ]
    java = ["java", f"-Dkept={folder}", "--add-opens=java.base/java.nio=ALL-UNNAMED"]
    main = "io.github.beamensembles.examples.digits.Digits"
    path = os.pathsep.join(map(str, dataflow_java.class_path()))
    said = _run([*java, "-cp", path, main, *_with_test_ensemble(flags), *instead_of_google], code=1)
    assert "Template successfully created" in said, said
    return _read(folder)


def _with_test_ensemble(flags: Sequence[str]) -> list[str]:
    """Replaces the ensemble file, which lies in a bucket on the page."""
    return [f"--ensemble={ENSEMBLE}" if flag.startswith("--ensemble=") else flag for flag in flags]


def _read(folder: Path) -> Job:
    pipeline = beam_runner_api_pb2.Pipeline.FromString((folder / PIPELINE).read_bytes())
    return Job(json.loads((folder / JOB).read_text(encoding="utf-8")), pipeline)


def _run(command: Sequence[object], code: int = 0) -> str:
    env = {**toolchains.environment(), "GOOGLE_APPLICATION_CREDENTIALS": "/there/is/no/such/file"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        list(map(str, command)),
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == code, f"{command} ended with {done.returncode}\n{done.stdout}"
    return done.stdout
