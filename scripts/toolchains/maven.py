"""Builds the Java client and examples with Maven, when their sources are not those of the last build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from scripts.layout import MAVEN_PROJECT, relative
from scripts.made import Made
from scripts.shell import log_path, run
from scripts.toolchains import java

QUIET = ("--batch-mode", "--no-transfer-progress")
"""Flags for a log that nobody watches."""
DIGITS_JAR = MAVEN_PROJECT / "digits" / "target" / "digits.jar"
EXAMPLES_JAR = MAVEN_PROJECT / "examples" / "target" / "examples.jar"
BENCH_JAR = MAVEN_PROJECT / "bench" / "target" / "bench.jar"
OPENED = "--add-opens=java.base/java.nio=ALL-UNNAMED"
"""The flag without which Arrow cannot be used in a program that is started by its class."""


def package() -> str:
    """Compiles and packages everything; tests and formatting are looked at elsewhere."""
    return _package(_ALL, EXAMPLES_JAR)


def package_digits() -> str:
    """Compiles and packages the client and the digits example."""
    return _package(_DIGITS, DIGITS_JAR, "--projects=digits", "--also-make")


def verify() -> bool:
    """Compiles, tests and packages everything, with what Maven says on the terminal; returns whether all went well."""
    _ALL.forget()
    _DIGITS.forget()
    command = ["mvn", *QUIET, "verify"]
    done = subprocess.run(
        command, env=java.environment(), cwd=MAVEN_PROJECT, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode == 0:  # what is packaged is what the functions above would make again
        _ALL.remember()
        _DIGITS.remember()
    return done.returncode == 0


def _package(made: Made, jar: Path, *flags: str) -> str:
    def work() -> None:
        command = ["mvn", *QUIET, *flags, "-DskipTests", "-Dfmt.skip", "package"]
        run(command, log=log_path("maven"), env=java.environment(), cwd=MAVEN_PROJECT)

    return relative(jar) if made.make(work) else f"{relative(jar)}, up to date"


def _sources() -> list[Path]:
    found: list[Path] = []
    for folder, folders, files in os.walk(MAVEN_PROJECT):
        folders[:] = [name for name in folders if name != "target"]
        found += [Path(folder, name) for name in files]
    return found


_ALL = Made(EXAMPLES_JAR.with_name("made.sha256"), (DIGITS_JAR, EXAMPLES_JAR, BENCH_JAR), _sources)
_DIGITS = Made(DIGITS_JAR.with_name("made.sha256"), (DIGITS_JAR,), _sources)
