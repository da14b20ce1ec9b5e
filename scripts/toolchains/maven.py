"""Builds the Java client and examples with Maven, when their sources are not those of the last build."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from scripts.layout import BUILD, MAVEN_PROJECT, relative
from scripts.shell import log_path, run
from scripts.toolchains import java

DIGITS_JAR = MAVEN_PROJECT / "digits" / "target" / "digits.jar"
_STAMP = BUILD / "java-sources.sha256"


def package() -> str:
    """Compiles and packages everything, without running the tests."""
    digest = _digest()
    if DIGITS_JAR.exists() and _STAMP.exists() and _STAMP.read_text(encoding="utf-8") == digest:
        return f"{relative(DIGITS_JAR)}, up to date"
    command = ["mvn", "--batch-mode", "--no-transfer-progress", "-DskipTests", "package"]
    run(command, log=log_path("maven"), env=java.environment(), cwd=MAVEN_PROJECT)
    _STAMP.write_text(digest, encoding="utf-8")
    return relative(DIGITS_JAR)


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        digest.update(f"{path.relative_to(MAVEN_PROJECT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Path]:
    found: list[Path] = []
    for folder, folders, files in os.walk(MAVEN_PROJECT):
        folders[:] = [name for name in folders if name != "target"]
        found += [Path(folder, name) for name in files]
    return found
