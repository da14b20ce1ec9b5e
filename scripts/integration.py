"""Runs the tests of all languages that need the real service and real Prism, which it starts and stops."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from scripts import servers, toolchains
from scripts.lanes import Task, run_lanes
from scripts.layout import GO_MODULE, MAVEN_PROJECT, PYTHON, ROOT
from scripts.members import MODELS, train
from scripts.processes import end_with_cleanup_on_sigterm
from scripts.shell import CommandFailed, log_path, run
from scripts.steps import Missing
from scripts.temporary import own_temporary_folder
from scripts.terminal import say, styled
from scripts.toolchains import go, java, maven

TRUSTED = (ROOT / "tests" / "golden" / "specs_invalid", MODELS)
PYTHON_VARIABLE = "BEAM_ENSEMBLES_PYTHON"
"""Names the environment variable that tells clients with which Python to start a service of their own."""

PLUGINS: Final = "installed"
"""The folder of packages that ``tests.support.client_calls`` makes for the service."""
TESTS = "tests/integration"
BUILDING = tuple(f"{TESTS}/{name}" for name in ("dataflow", "examples", "readme", "release"))
"""Folders of Python's tests some of which build what Java's are built to: they are not run at one time with those."""


def lanes(overlay: Path) -> list[list[Task]]:
    """Gives the suites that run one after another, for each of the two that run at one time.

    Args:
        overlay: The file that tells Go of the ensembles that were drawn.
    """
    others = [f"--ignore={name}" for name in (*BUILDING, f"{TESTS}/flink")]
    java = [
        "mvn",
        *maven.QUIET,
        "-Dtest=*IntegrationTest",
        "-Dsurefire.failIfNoSpecifiedTests=false",
        "verify",
    ]
    return [
        [
            Task("Python builds", [PYTHON, "-m", "pytest", *BUILDING]),
            Task("Java", java, MAVEN_PROJECT),
        ],
        [
            Task("Python", [PYTHON, "-m", "pytest", TESTS, *others]),
            Task("Go", ["go", "test", f"-overlay={overlay}", "-count=1", "-timeout=1h", "./..."], GO_MODULE),
        ],
    ]


USED = (
    "--allow-host", "localhost", "--allow-host", "us-central1-aiplatform.googleapis.com",
    "--allow-code", "tests.support.*",
)  # fmt: skip
"""What the ensembles of the tests use beside files."""


def run_suites(frameworks: Path) -> list[str]:
    """Runs the suites, two at a time; gives the names of those that failed.

    Args:
        frameworks: An empty folder for the ensemble with a node of every framework.
    """
    env = toolchains.environment()
    with (
        servers.frameworks(frameworks) as variables,
        servers.service(
            *TRUSTED, frameworks, flags=USED, variables=variables, installed=frameworks / PLUGINS
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
        return run_lanes(lanes(frameworks / "overlay.json"), env)


def main() -> int:
    """Runs the suites; gives the exit code."""
    end_with_cleanup_on_sigterm()
    try:
        go.require()
        java.require()
        maven.package()
        train()
        with own_temporary_folder() as folder:
            frameworks = Path(folder, "frameworks")
            frameworks.mkdir()
            run([PYTHON, "-m", "tests.support.client_calls", frameworks], log=log_path("calls"))
            failed = run_suites(frameworks)
    except (CommandFailed, Missing) as exc:
        say(styled(str(exc), "red"))
        return 1
    if failed:
        say(styled(f"\nFailed: {', '.join(failed)}", "red"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
