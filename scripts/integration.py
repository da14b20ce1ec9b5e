"""Runs the tests of all languages that need the real service and real Prism, which it starts and stops."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from scripts import servers, toolchains
from scripts.layout import GO_MODULE, MAVEN_PROJECT, PYTHON, ROOT
from scripts.members import MODELS, train
from scripts.processes import end_with_cleanup_on_sigterm
from scripts.shell import CommandFailed, log_path, run
from scripts.steps import Missing
from scripts.temporary import own_temporary_folder
from scripts.terminal import say, styled
from scripts.toolchains import go, java, maven

TRUSTED = (ROOT / "tests" / "golden" / "specs_invalid" / "models", MODELS)
PYTHON_VARIABLE = "BEAM_ENSEMBLES_PYTHON"
"""Names the environment variable that tells clients with which Python to start a service of their own."""

SUITES = {
    "Python": (["python", "-m", "pytest", "tests/integration", "--ignore=tests/integration/flink"], ROOT),
    "Go": (["go", "test", "-overlay={folder}/overlay.json", "-count=1", "./..."], GO_MODULE),
    "Java": (
        ["mvn", *maven.QUIET, "-Dtest=*IntegrationTest", "-Dsurefire.failIfNoSpecifiedTests=false", "verify"],
        MAVEN_PROJECT,
    ),
}


USED = (
    "--allow-host", "localhost", "--allow-host", "us-central1-aiplatform.googleapis.com",
    "--allow-code", "tests.support.*",
)  # fmt: skip
"""What the ensembles of the tests use beside files."""


def run_suites(frameworks: Path) -> list[str]:
    """Runs the suites, one after the other; gives the languages whose tests failed.

    Args:
        frameworks: An empty folder for the ensemble with a node of every framework.
    """
    env = toolchains.environment()
    failed = []
    with (
        servers.frameworks(frameworks) as variables,
        servers.service(*TRUSTED, frameworks, flags=USED, variables=variables) as service,
        servers.prism() as prism,
    ):
        env |= {
            servers.FRAMEWORKS_VARIABLE: str(frameworks),
            servers.SERVICE_VARIABLE: service,
            servers.PRISM_VARIABLE: prism,
            PYTHON_VARIABLE: str(PYTHON),
        }
        for language, (words, folder) in SUITES.items():
            command = [word.format(folder=frameworks) for word in words]
            say(styled(f"\n{language}: {' '.join(command)} (service on {service}, Prism on {prism})", "bold"))
            start = time.monotonic()
            code = subprocess.run(command, cwd=folder, env=env, check=False).returncode
            say(f"{language}: ended with {code} after {time.monotonic() - start:.0f} s")
            if code != 0:
                failed.append(language)
    return failed


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
            run([PYTHON, "-m", "tests.support.drawn_graphs", frameworks], log=log_path("drawn"))
            failed = run_suites(frameworks)
    except (CommandFailed, Missing) as exc:
        say(styled(str(exc), "red"))
        return 1
    if failed:
        say(styled(f"\nFailed: {', '.join(failed)}", "red"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
