"""Java: a JDK and Maven of the machine; as root on Debian and Ubuntu, installed from its packages."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shutil
from pathlib import Path

from scripts.shell import Missing, log_path, output, run

OLDEST = 17
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Flags of a JVM whose program ends soon. Without the second compiler a build of Maven takes half as much of a core."""
_HOW = f"a JDK, {OLDEST} or newer, and Maven are needed: apt-get install openjdk-{OLDEST}-jdk-headless maven"


@dataclasses.dataclass(frozen=True)
class Jdk:
    """A Java development kit."""

    home: Path
    version: int


def find_jdk() -> Jdk | None:
    """Returns a JDK that is new enough: JAVA_HOME's, or the one whose javac is on the path."""
    on_path = shutil.which("javac")
    homes = [os.environ.get("JAVA_HOME"), str(Path(on_path).resolve().parent.parent) if on_path else None]
    for home in filter(None, homes):
        version = _version(Path(home))
        if version >= OLDEST:
            return Jdk(Path(home), version)
    return None


@functools.cache
def _version(home: Path) -> int:
    """Returns the version of a JDK, 0 where there is none: to ask it takes half a second of a core."""
    found = re.search(r"javac (\d+)", output([home / "bin" / "javac", "-version"]) or "")
    return int(found[1]) if found is not None else 0


def environment() -> dict[str, str]:
    """Returns the environment in which ``java`` and ``mvn`` use the JDK found here; ``MAVEN_OPTS`` as given, if any."""
    env = {"MAVEN_OPTS": " ".join(SHORT_LIVED), **os.environ}
    jdk = find_jdk()
    if jdk is None:
        return env
    path = os.pathsep.join([str(jdk.home / "bin"), os.environ.get("PATH", os.defpath)])
    return {**env, "JAVA_HOME": str(jdk.home), "PATH": path}


def install() -> str:
    """Ensures that there are a JDK and Maven.

    Raises:
        Missing: there are not, and only a person with root's rights can change that.
    """
    no_jdk, no_maven = find_jdk() is None, shutil.which("mvn") is None
    if no_jdk or no_maven:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise Missing(_HOW)
        log = log_path("java")
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update"], log=log, env=env)
        packages = [*([_jdk_package()] if no_jdk else []), *(["maven"] if no_maven else [])]
        run(["apt-get", "install", "-y", "--no-install-recommends", *packages], log=log, env=env)
    return require()


def require() -> str:
    """Returns the versions of the JDK and of Maven in words.

    Raises:
        Missing: one is not there; says how to get it.
    """
    jdk, maven = find_jdk(), shutil.which("mvn")
    if jdk is None or maven is None:
        raise Missing(_HOW)
    version = re.search(r"Apache Maven (\S+)", re.sub(r"\x1b\[[0-9;]*m", "", output([maven, "-v"]) or ""))
    return f"java {jdk.version}, maven {version[1] if version else 'of unknown version'}"


def _jdk_package() -> str:
    """Returns the oldest JDK that will do of those that this distribution has."""
    names = output(["apt-cache", "search", "--names-only", "^openjdk-[0-9]+-jdk-headless$"]) or ""
    versions = sorted(int(number) for number in re.findall(r"^openjdk-(\d+)-", names, re.MULTILINE))
    enough = [version for version in versions if version >= OLDEST]
    if not enough:
        raise Missing(f"{_HOW}; this distribution has no such JDK")
    return f"openjdk-{enough[0]}-jdk-headless"
