"""The service's flags."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.pipeline_context import PipelineContext

from beam_ensembles.files.ensemble_files import LIBRARY_CODE
from beam_ensembles.processes.process_count import PROCESSES_VARIABLE
from beam_ensembles_service.launch import run
from beam_ensembles_service.requests.environment import WORKER_IMAGE, workers_of
from beam_ensembles_service.settings import Settings, UsageError, add_arguments, settings_of

PORT = 50124


def _parse(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_arguments(parser)
    return parser.parse_args(flags)


def _environment(*flags: str) -> beam_runner_api_pb2.Environment:
    environment = workers_of(settings_of(_parse(*flags)), PORT).environment
    return environment.to_runner_api(PipelineContext())


def test_without_flags_only_this_machine_can_connect() -> None:
    settings = settings_of(_parse())
    assert (settings.host, settings.port) == ("127.0.0.1", 8097)
    assert not settings.serve_loopback_worker


@pytest.mark.parametrize(
    ("flags", "ignored"),
    [
        # Java's PythonService
        (
            ["--port=7", "--fully_qualified_name_glob=*", "--pickle_library=cloudpickle"],
            ("--fully_qualified_name_glob", "--pickle_library"),
        ),
        # Go's autopython
        (["-p", "7", "--fully_qualified_name_glob=*"], ("--fully_qualified_name_glob",)),
    ],
)
def test_the_flags_of_beams_own_starters_are_taken(flags: list[str], ignored: tuple[str, ...]) -> None:
    assert settings_of(_parse(*flags)) == Settings(port=7, ignored=ignored)


@pytest.mark.parametrize("flag", ["--serve-loopback-worker", "--serve_loopback_worker"])
def test_loopback_workers_see_local_files(flag: str) -> None:
    assert workers_of(settings_of(_parse(flag)), PORT).shared_files


@pytest.mark.parametrize("flags", [["--serve_loopback"], ["--trust"], ["--environment-type", "COW"], ["x"]])
def test_a_flag_that_there_is_not_is_a_usage_error(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        _parse(*flags)
    assert exit_.value.code == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    "flags",
    [
        ["--port", "65536"],
        ["--max-workers", "0"],
        ["--host", "0.0.0.0"],
        ["--tls-cert", "no-such-file"],
        ["--allow-user", "no such user"],
        ["--allow-user", "9" * 5_000],
        ["--host", "a" * 300],
        ["--max-connection-age-seconds", "-1"],
        ["--serve-loopback-worker", "--environment-config", "x"],
        ["--serve-loopback-worker", "--environment-type", "DOCKER"],
        ["--serve_loopback_worker", "--environment_type=external"],
    ],
)
def test_flags_that_contradict_each_other_end_with_code_2_and_one_sentence(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_parse(*flags)) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_a_worker_flag_workers_are_containers_of_this_version() -> None:
    environment = _environment()
    payload = beam_runner_api_pb2.DockerPayload.FromString(environment.payload)
    assert payload.container_image == WORKER_IMAGE
    assert not workers_of(Settings(), PORT).shared_files


def test_a_worker_pool_elsewhere() -> None:
    environment = _environment("--environment_type=external", "--environment_config=pool:50000")
    payload = beam_runner_api_pb2.ExternalPayload.FromString(environment.payload)
    assert payload.endpoint.url == "pool:50000"


@pytest.mark.parametrize("config", ["/opt/boot", '{"command": "/opt/boot", "env": {"A": "b"}}'])
def test_a_process_of_the_runners_machine(config: str) -> None:
    environment = _environment("--environment-type", "PROCESS", "--environment-config", config)
    payload = beam_runner_api_pb2.ProcessPayload.FromString(environment.payload)
    assert payload.command == "/opt/boot"
    assert dict(payload.env) == ({"A": "b"} if "{" in config else {})


@pytest.mark.parametrize("flags", [["EXTERNAL"], ["PROCESS"], ["PROCESS", "--environment-config", "{}"]])
def test_an_environment_that_lacks_its_configuration_is_a_usage_error(flags: list[str]) -> None:
    settings = settings_of(_parse("--environment-type", *flags))
    with pytest.raises(UsageError, match=flags[0]):
        workers_of(settings, PORT)


def test_files_are_shared_where_the_flag_says_so() -> None:
    settings = settings_of(
        _parse("--environment-type=EXTERNAL", "--environment-config=p:1", "--shared-files")
    )
    assert workers_of(settings, PORT).shared_files


def test_help_does_not_wait_for_beam() -> None:
    script = (
        "import sys; from beam_ensembles_service.__main__ import main\n"
        "try: main(['--help'])\n"
        "finally: assert 'apache_beam' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "--serve-loopback-worker" in done.stdout
    assert "fully_qualified" not in done.stdout


def test_what_ensembles_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    files = settings_of(_parse()).files
    assert (files.trusted, files.hosts, files.secrets) == ((), (), ())
    monkeypatch.setenv("BEAM_ENSEMBLES_ALLOW_CODE", "our_team.*, other.Net")
    monkeypatch.setenv("BEAM_ENSEMBLES_ALLOW_HOST", "triton")
    monkeypatch.setenv("BEAM_ENSEMBLES_ALLOW_SECRET", "env:ML_*")
    files = settings_of(
        _parse(
            "--allow-code",
            "mine.*",
            "--allow-host=models.example.com",
            "--trust=/",
            "--allow-secret=file:/run/secrets/db",
        )
    ).files
    assert files.trusted == ("/",)
    assert files.code == (*LIBRARY_CODE, "our_team.*", "other.Net", "mine.*")
    assert files.hosts == ("triton", "models.example.com")
    assert files.secrets == ("env:ML_*", "file:/run/secrets/db")


@pytest.mark.parametrize(
    ("flags", "told"), [([], "3"), (["--serve-loopback-worker", "--stage-processes=2"], "2")]
)
def test_stage_processes_are_said_by_a_flag_or_the_environment(
    flags: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROCESSES_VARIABLE, "3")
    assert settings_of(_parse(*flags)).stage_processes == told


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ["--serve-loopback-worker", "--stage-processes=257"],
            "must be a whole number from 0 to 256, not '257'",
        ),
        (["--stage-processes=2"], "is for the workers that --serve-loopback-worker starts"),
    ],
)
def test_stage_processes_that_cannot_be_are_a_usage_error(flags: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=f"--stage-processes {said}"):
        settings_of(_parse(*flags))


@pytest.mark.parametrize("place", ["TOKEN", "*", "file:run/secrets/db"])
def test_a_secret_is_allowed_by_its_place(place: str) -> None:
    with pytest.raises(UsageError, match=r"--allow-secret takes env:NAME or file:/PATH"):
        settings_of(_parse("--allow-secret", place))


def test_a_trusted_folder_must_be_there() -> None:
    with pytest.raises(UsageError, match="there is no folder '/no/such/models'"):
        settings_of(_parse("--trust", "/no/such/models"))
    assert settings_of(_parse("--trust", "gs://bucket/models")).trust == ("gs://bucket/models",)
