"""What the tests of the images share: the engine, the images' names, a Prism, and the digits pipelines."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scripts import toolchains
from scripts.containers.engine import Engine
from scripts.containers.images import image
from scripts.layout import GO_EXAMPLES, PYTHON
from scripts.members import DIGITS
from scripts.servers import prism as running_prism
from scripts.toolchains import maven
from scripts.toolchains.java import SHORT_LIVED
from tests.support.containers import engine_of_tests
from tests.support.digits import answers
from tests.support.patience import SECONDS

Score = Callable[..., subprocess.CompletedProcess[str]]
Answers = dict[int, tuple[str, object]]


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The container engine; without images the test is skipped."""
    return engine_of_tests()


@pytest.fixture(scope="session")
def service_image(engine: Engine) -> str:
    """The name of the service's image."""
    return image("service")


@pytest.fixture(scope="session")
def worker_image(engine: Engine) -> str:
    """The name of the workers' image."""
    return image("worker")


@pytest.fixture(scope="session")
def gpu_image(engine: Engine) -> str:
    """The name of the image of workers with a GPU."""
    return image("worker-gpu")


@pytest.fixture(scope="session")
def prism(engine: Engine) -> Iterator[str]:
    """A Prism of these tests' own, which finds the engine: its address."""
    with running_prism() as address:
        yield address


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What the digits ensemble says without any container."""
    output = tmp_path_factory.mktemp("expected") / "scored.jsonl"
    command = [PYTHON, "-m", "beam_ensembles.cli.main", "run", DIGITS.ensemble_file]
    subprocess.run([*command, "--input", DIGITS.input, "--output", output], check=True)
    return answers(output)


@pytest.fixture(scope="session")
def go(engine: Engine, prism: str, tmp_path_factory: pytest.TempPathFactory) -> Score:
    """Runs the Go digits pipeline with an ensemble file and a service, to a file; on Prism or another runner."""
    program = tmp_path_factory.mktemp("go") / "digits"
    build = ["go", "build", "-o", str(program), "./cmd/digits"]
    subprocess.run(build, cwd=GO_EXAMPLES, env=toolchains.environment(), check=True)

    def score(
        service: str, output: Path, ensemble: Path = DIGITS.ensemble_file, runner: str = prism
    ) -> subprocess.CompletedProcess[str]:
        where = ["--runner=universal", f"--endpoint={runner}", "--environment_type=LOOPBACK"]
        return _run([program, f"--expansion_addr={service}", *_files(output, ensemble), *where])

    return score


@pytest.fixture(scope="session")
def java(engine: Engine, prism: str) -> Score:
    """Runs the Java digits pipeline likewise."""
    program = ["java", *SHORT_LIVED, maven.OPENED, "-cp", DIGITS.jar, DIGITS.java_class]
    runner = ["--runner=PortableRunner", f"--jobEndpoint={prism}"]

    def score(
        service: str, output: Path, ensemble: Path = DIGITS.ensemble_file
    ) -> subprocess.CompletedProcess[str]:
        return _run([*program, f"--expansionService={service}", *_files(output, ensemble), *runner])

    return score


def _files(output: Path, ensemble: Path) -> list[str]:
    return [f"--input={DIGITS.input}", f"--output={output}", f"--ensemble={ensemble}"]


def _run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    env = toolchains.environment()
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
