"""Sets a machine up: Python's part into ``.venv``, tools into ``build/tools``. Quick where all is there."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from scripts.layout import LOGS, relative
from scripts.program import end_with_cleanup_on_sigterm, say
from scripts.steps import Step, run_steps, show_failures
from scripts.toolchains import go, java, python


def steps(install_packages: Callable[[], str]) -> tuple[Step, ...]:
    """Returns the steps that set a machine up, with one of the two sets of Python's packages."""
    return (
        Step("uv", "making .venv", python.make_venv),
        Step("python", "installing the locked packages", install_packages, after=("uv",)),
        Step("go", "looking for Go", go.install, after=("uv",)),
        Step("prism", "building Beam's local runner", go.build_prism, after=("go",)),
        Step("java", "looking for a JDK and Maven", java.install),
    )


def main() -> int:
    """Sets up and says what is missing; gives the exit code."""
    end_with_cleanup_on_sigterm()
    start = time.monotonic()
    say(f"Setting up (logs in {relative(LOGS)})")
    if show_failures(run_steps(steps(python.install_all))):
        return 1
    say(f"Ready in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
