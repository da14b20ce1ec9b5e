"""Builds the Java client and examples with Maven, when their sources are not those of the last build."""

from __future__ import annotations

import os
from pathlib import Path

from scripts.layout import MAVEN_PROJECT, relative
from scripts.made import Made
from scripts.shell import log_path, run
from scripts.toolchains import java

QUIET = ("--batch-mode", "--no-transfer-progress")
"""Flags for a log that nobody watches."""
DIGITS_JAR = MAVEN_PROJECT / "digits" / "target" / "digits.jar"


def package() -> str:
    """Compiles and packages everything; tests and formatting are looked at elsewhere."""
    if _JARS.current():
        return f"{relative(DIGITS_JAR)}, up to date"
    _JARS.forget()
    command = ["mvn", *QUIET, "-DskipTests", "-Dfmt.skip", "package"]
    run(command, log=log_path("maven"), env=java.environment(), cwd=MAVEN_PROJECT)
    _JARS.remember()
    return relative(DIGITS_JAR)


def _sources() -> list[Path]:
    found: list[Path] = []
    for folder, folders, files in os.walk(MAVEN_PROJECT):
        folders[:] = [name for name in folders if name != "target"]
        found += [Path(folder, name) for name in files]
    return found


_JARS = Made(DIGITS_JAR.with_name("made.sha256"), (DIGITS_JAR,), _sources)
