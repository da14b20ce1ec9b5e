"""What each SDK would send to Dataflow, with the flags of docs/deploy/dataflow.md."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from apache_beam.transforms.environments import python_sdk_docker_capabilities

from tests.support.dataflow import Job, go_job, java_job, python_job
from tests.support.pages import flags_after
from tests.support.service import RunningService, running_service

# The first time Maven fetches Dataflow's runner: 160 MB.
pytestmark = pytest.mark.timeout(900)
PAGE = "deploy/dataflow.md"
SERVE = "beam-ensembles serve --environment-type DOCKER"
HINTS = {
    "beam:resources:min_ram_bytes:v1": b"2000000000",
    "beam:resources:accelerator:v1": b"type:nvidia-tesla-t4;count:1;install-nvidia-driver",
}
COMMANDS = {
    "python": ("python examples/digits/pipeline.py", python_job),
    "go": ("./digits", go_job),
    "java": ("java -jar java_examples/digits/target/digits.jar", java_job),
}
"""How the page's command begins, and what makes its job."""
PROGRAMS = {"python": "python3", "go": "go", "java": "mvn"}


def make(language: str, folder: Path, service: str, more: Sequence[str] = ()) -> Job:
    """Creates the job of the page's command for a language.

    Args:
        language: A key of ``COMMANDS``.
        folder: Where to put its parts.
        service: The address of the service, instead of the page's.
        more: Flags beyond the page's.
    """
    if shutil.which(PROGRAMS[language]) is None:
        pytest.skip(f"there is no {PROGRAMS[language]} here")
    command, job_of = COMMANDS[language]
    flags = [flag.replace("localhost:8097", service) for flag in flags_after(PAGE, command)]
    return job_of([*flags, *more], folder)


def image() -> str:
    """The workers' image on the page."""
    (found,) = {
        flag.rpartition("=")[2]
        for flag in flags_after(PAGE, SERVE)
        if flag.startswith("--environment-config=")
    }
    return found


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """The page's service."""
    flags = [word for word in flags_after(PAGE, SERVE) if word != "&"]
    with running_service("--environment-type", "DOCKER", *flags) as running:
        yield running


@pytest.fixture(scope="module")
def other() -> Iterator[RunningService]:
    """A service that names another image."""
    with running_service() as running:
        yield running


@pytest.fixture(scope="module", params=COMMANDS)
def job(
    request: pytest.FixtureRequest, service: RunningService, tmp_path_factory: pytest.TempPathFactory
) -> Job:
    """The job of each language."""
    return make(request.param, tmp_path_factory.mktemp(request.param), service.address)


def python_environments(job: Job) -> set[str]:
    """Returns those of the environments that run the ensemble."""
    return job.environments_of("Stage(digits/")


def test_the_ensemble_runs_in_the_workers_image(job: Job) -> None:
    ours = python_environments(job)
    assert len(ours) == 2
    assert {job.image_of(environment) for environment in ours} == {image()}
    assert {job.containers[environment]["containerImage"] for environment in ours} == {image()}


def test_the_callers_own_steps_run_in_its_sdks_image(job: Job) -> None:
    others = set(job.containers) - python_environments(job)
    python_alone = "Python" in job.description["environment"]["userAgent"]["name"]
    assert len(others) == (0 if python_alone else 1)
    images = [job.containers[environment]["containerImage"] for environment in others]
    assert all(name.startswith("gcr.io/cloud-dataflow/v1beta3/beam_") for name in images)
    assert all(not job.environments[environment].resource_hints for environment in others)


def test_only_the_node_with_resources_has_hints(job: Job) -> None:
    (hinted,) = job.environments_of("Stage(digits/network)")
    assert dict(job.environments[hinted].resource_hints) == HINTS
    for environment in set(job.environments) - {hinted}:
        assert not job.environments[environment].resource_hints
    steps = [
        transform.unique_name
        for transform in job.pipeline.components.transforms.values()
        if transform.environment_id == hinted
    ]
    assert steps
    assert all("Stage(digits/network)" in step for step in steps)


def test_workers_keep_their_capabilities(job: Job) -> None:
    wanted = set(python_sdk_docker_capabilities())
    for environment in python_environments(job):
        assert set(job.environments[environment].capabilities) == wanted
        assert set(job.containers[environment]["capabilities"]) == wanted


def test_the_job_has_the_disk_and_the_places_of_the_page(job: Job) -> None:
    assert job.workers["diskSizeGb"] == 100
    assert "my-bucket/tmp" in job.description["environment"]["tempStoragePrefix"]


@pytest.mark.parametrize(
    ("language", "flag"),
    [("go", "--sdk_harness_container_image_override"), ("java", "--sdkHarnessContainerImageOverrides")],
)
def test_the_image_of_a_service_that_names_another_can_be_overridden(
    language: str, flag: str, other: RunningService, tmp_path: Path
) -> None:
    text = Path("docs", PAGE).read_text(encoding="utf-8")
    override = f"{flag}='.*beam-ensembles-worker.*,{image()}'"
    assert override in text
    job = make(language, tmp_path, other.address, [override.replace("'", "")])
    ours = python_environments(job)
    assert {job.containers[environment]["containerImage"] for environment in ours} == {image()}
    assert {job.image_of(environment) for environment in ours} == {image()}
    test_the_callers_own_steps_run_in_its_sdks_image(job)
