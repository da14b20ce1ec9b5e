"""``python -m scripts.java_tests``: Java's format, warnings and unit tests; what they build is kept for others."""

from __future__ import annotations

import sys

from scripts.program import exit_code
from scripts.toolchains import java, maven


def test() -> bool:
    """Runs them; returns whether all is well."""
    java.require()
    return maven.verify()


if __name__ == "__main__":
    sys.exit(exit_code(test))
