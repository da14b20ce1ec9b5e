"""Runs the tests of all languages that need the real service and real Prism, which it starts and stops."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scripts import servers, toolchains
from scripts.layout import GO_EXAMPLES, MAVEN_PROJECT, PYTHON, ROOT
from scripts.members import MODELS, train
from scripts.program import exit_code, say, styled
from scripts.shell import Command, log_path, run
from scripts.steps import Step, run_steps
from scripts.toolchains import go, java, maven

TRUSTED = (*(ROOT / "tests" / "golden" / name for name in ("specs_invalid", "metrics")), MODELS)
PYTHON_VARIABLE = "BEAM_ENSEMBLES_PYTHON"
"""Names the environment variable that tells clients with which Python to start a service of their own."""

PLUGINS: Final = "installed"
"""The folder of packages that ``tests.support.client_calls`` makes for the service."""
TESTS = "tests/integration"
BUILDING = tuple(f"{TESTS}/{name}" for name in ("dataflow", "examples", "java", "readme", "release"))
"""Folders of Python's tests some of which build what Java's are built to: they are not run at one time with those."""
NOT_BUILDING = tuple(f"{TESTS}/{name}" for name in ("examples/test_calls.py", "readme/test_tutorials.py"))
"""Modules in those folders that do not: they are run with the others, so that both lanes end at about the same time."""
GO_TESTS: Final = "^TestIntegration|^Example|AServiceRefuses"
"""What Go's tests are called that use the servers; the others are unit tests, which are run elsewhere."""
JAVA_PROJECTS: Final = "client,digits"
"""The modules that have such tests of Java."""


def suites(overlay: Path, env: Mapping[str, str]) -> list[Step]:
    """Returns the suites: two run at one time, and another one behind each.

    Args:
        overlay: The file that tells Go of the ensembles that were drawn.
        env: Their environment.
    """
    pytest: Command = [PYTHON, "-m", "pytest"]
    folders = sorted(str(path.parent.relative_to(ROOT)) for path in (ROOT / TESTS).glob("*/test_*.py"))
    others = [name for name in dict.fromkeys(folders) if name not in (*BUILDING, f"{TESTS}/flink")]
    building = [*BUILDING, *(f"--ignore={name}" for name in NOT_BUILDING)]
    java_tests = ["-Dtest=*IntegrationTest", "-Dsurefire.failIfNoSpecifiedTests=false", "-Dfmt.skip"]
    mvn: Command = ["mvn", *maven.QUIET, f"--projects={JAVA_PROJECTS}", *java_tests, "verify"]
    go_tests = [f"-overlay={overlay}", f"-run={GO_TESTS}", "-count=1", "-timeout=1h", "./ensemble/..."]
    return [
        _suite("Python builds", [*pytest, *building], ROOT, env),
        _suite("Python", [*pytest, *others, *NOT_BUILDING], ROOT, env),
        _suite("Java", mvn, MAVEN_PROJECT, env, behind="Python builds"),
        _suite("Go", ["go", "test", *go_tests], GO_EXAMPLES, env, behind="Python"),
    ]


def _suite(name: str, command: Command, folder: Path, env: Mapping[str, str], behind: str = "") -> Step:
    def work() -> str:
        log = log_path(name)
        log.write_text("", encoding="utf-8")
        try:
            run(command, log=log, env=env, cwd=folder)
        finally:
            say(f"\n{log.read_text(encoding='utf-8', errors='replace').rstrip()}")
        return ""

    return Step(name, " ".join(map(str, command)), work, behind=(behind,) if behind else ())


USED = (
    "--allow-host", "localhost", "--allow-host", "us-central1-aiplatform.googleapis.com",
    "--allow-code", "tests.support.*",
)  # fmt: skip
"""What the ensembles of the tests use beside files."""


def run_suites(frameworks: Path) -> list[str]:
    """Runs the suites; returns the names of those that failed.

    Args:
        frameworks: An empty folder for the ensemble with a node of every framework.
    """
    env = toolchains.environment()
    with (
        servers.frameworks(frameworks) as reached,
        servers.service(
            *TRUSTED,
            frameworks,
            flags=[*USED, *(word for host in reached.hosts for word in ("--allow-host", host))],
            variables=reached.variables,
            installed=frameworks / PLUGINS,
        ) as service,
        servers.prism() as prism,
    ):
        env |= {
            servers.FRAMEWORKS_VARIABLE: str(frameworks),
            servers.SERVICE_VARIABLE: service,
            servers.PRISM_VARIABLE: prism,
            PYTHON_VARIABLE: str(PYTHON),
        }
        say(styled(f"\nservice on {service}, Prism on {prism}", "bold"))
        outcomes = run_steps(suites(frameworks / "overlay.json", env))
        return [name for name, outcome in outcomes.items() if not outcome.well]


def test() -> bool:
    """Builds what the suites need and runs them; returns whether all went well."""
    go.require()
    java.require()
    maven.package()
    train()
    frameworks = Path(tempfile.mkdtemp())
    run([PYTHON, "-m", "tests.support.client_calls", frameworks], log=log_path("calls"))
    failed = run_suites(frameworks)
    if failed:
        say(styled(f"\nFailed: {', '.join(failed)}", "red"))
    return not failed


if __name__ == "__main__":
    sys.exit(exit_code(test))
