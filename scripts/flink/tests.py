"""``make test-flink``: runs the tests that need a real Flink cluster; says so where this machine can have none."""

from __future__ import annotations

import subprocess
import sys

from scripts import toolchains
from scripts.flink.install import install
from scripts.layout import PYTHON, ROOT
from scripts.members import DIGITS
from scripts.program import exit_code, say
from scripts.shell import Missing
from scripts.toolchains import go, java, maven

FOLDER = "tests/integration/flink"


def run_tests() -> bool:
    """Runs them; gives whether all went well, or could not be run."""
    try:
        java.require()
    except Missing as exc:
        say(f"SKIP: no Flink without Java: {exc}")
        return True
    install()
    DIGITS.make_models()
    go.require()
    go.build_commands([DIGITS.name])
    maven.package()
    command = [str(PYTHON), "-m", "pytest", *(sys.argv[1:] or [FOLDER])]
    return subprocess.run(command, cwd=ROOT, env=toolchains.environment(), check=False).returncode == 0


if __name__ == "__main__":
    raise SystemExit(exit_code(run_tests))
