"""The Java example with Beam's Dataflow runner, built as its README says, beside the one that other tests use."""

from __future__ import annotations

import shutil
from pathlib import Path

from scripts.layout import BUILD, MAVEN_PROJECT, ROOT
from scripts.made import Made
from scripts.shell import log_path, run
from scripts.toolchains import java
from scripts.toolchains.maven import QUIET

PROJECT = BUILD / "dataflow" / "java"
STAGER = ROOT / "tests" / "integration" / "dataflow" / "KeptStager.java"
_TARGET = PROJECT / "digits" / "target"
_CLASSES = BUILD / "dataflow" / "classes"


def class_path() -> list[Path]:
    """Returns the jar, whose manifest names all that it needs, and a folder with the test's own class."""
    _MADE.make(_build)
    return [_CLASSES, _TARGET / "digits.jar"]


def _build() -> None:
    log, env = log_path("dataflow-java"), java.environment()
    shutil.rmtree(PROJECT, ignore_errors=True)
    shutil.copytree(MAVEN_PROJECT, PROJECT, ignore=shutil.ignore_patterns("target"))
    command = ["mvn", *QUIET, "-Pdataflow", "-DskipTests", "-Dfmt.skip", "package"]
    run(command, log=log, env=env, cwd=PROJECT)
    run(["javac", "-cp", _TARGET / "lib" / "*", "-d", _CLASSES, STAGER], log=log, env=env)


def _sources() -> list[Path]:
    files = (path for path in MAVEN_PROJECT.rglob("*") if "target" not in path.parts)
    return [STAGER, *(path for path in files if path.is_file())]


_MADE = Made(BUILD / "dataflow" / "made.sha256", (_TARGET / "digits.jar", _CLASSES), _sources)
