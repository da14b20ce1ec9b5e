"""The jars of Flink, from PyPI, and Beam's job server for it, of jars from Maven Central."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

from scripts.layout import BUILD, REQUIREMENTS, ROOT, relative
from scripts.made import Made
from scripts.shell import Command, log_path, run
from scripts.toolchains import java, maven, python

FLINK = BUILD / "flink"
_LOCK = REQUIREMENTS / "flink.txt"
_POM = ROOT / "scripts" / "flink" / "pom.xml"
_PACKAGE = FLINK / "package"
_JOB_SERVER = FLINK / "job-server"
_FLINK_MADE = Made(FLINK / ".made-package", (_PACKAGE,), lambda: [_LOCK])
_JOB_SERVER_MADE = Made(FLINK / ".made-job-server", (_JOB_SERVER,), lambda: [_POM])


@dataclasses.dataclass(frozen=True)
class Jars:
    """Class paths.

    Attributes:
        flink: Of job and task managers.
        job_server: Of Beam's job server, which sends it along with each job: one jar.
        utilities: The jar of what Flink's scripts ask it; not among those of ``flink``.
    """

    flink: str
    job_server: str
    utilities: Path


def install() -> Jars:
    """Fetches what is not there.

    Raises:
        Missing: There is no JDK or no Maven.
    """
    java.require()
    _FLINK_MADE.make(_fetch_flink)
    _JOB_SERVER_MADE.make(_fetch_job_server)
    return _jars()


def _fetch_flink() -> None:
    shutil.rmtree(_PACKAGE, ignore_errors=True)
    flags: list[str | Path] = ["--require-hashes", "--no-deps", "--target", _PACKAGE, "-r", _LOCK]
    python.install(flags, log_path("flink-package"))


def _fetch_job_server() -> None:
    shutil.rmtree(_JOB_SERVER, ignore_errors=True)
    command: Command = ["mvn", *maven.QUIET, "-f", _POM, f"-Dfolder={_JOB_SERVER}", "package"]
    run(command, log=log_path("flink-job-server"), env=java.environment())


def installed() -> str:
    """Fetches what is not there; says where it is, as a step of a program does."""
    install()
    return relative(FLINK)


def _jars() -> Jars:
    lib = _PACKAGE / "pyflink" / "lib"
    flink = [next(lib.glob("flink-dist-*.jar")), *sorted(lib.glob("log4j-*.jar"))]
    utilities = _PACKAGE / "pyflink" / "bin" / "bash-java-utils.jar"
    return Jars(os.pathsep.join(map(str, flink)), str(_JOB_SERVER / "job-server.jar"), utilities)
