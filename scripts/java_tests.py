"""``python -m scripts.java_tests``: Java's format, warnings and unit tests; what they build is kept for others."""

from __future__ import annotations

import sys

from scripts.program import exit_code
from scripts.shell import Missing
from scripts.toolchains import java, maven


def test() -> bool:
    """Runs them; returns whether all is well."""
    try:
        java.require()
    except Missing as exc:
        print(f"mvn: {exc}", file=sys.stderr)
        return False
    return maven.verify()


if __name__ == "__main__":
    sys.exit(exit_code(test))
