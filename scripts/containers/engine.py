"""The container engine: the one that answers here, or a private one that is there for a test and gone after it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scripts.processes import READY_SECONDS, running
from scripts.shell import CommandFailed, log_path, output, run, tail

ENGINE_VARIABLE: Final = "BEAM_ENSEMBLES_ENGINE"
"""Names the environment variable whose value ``private`` allows a private engine where none answers."""
PRIVATE: Final = "private"
_PACKAGES: Final = {"dockerd": "docker.io", "mmdebstrap": "mmdebstrap", "docker-compose": "docker-compose"}
"""What a private engine needs of Debian, by a program of it."""


class NoEngine(Exception):
    """There is no container engine; says why not."""


@dataclasses.dataclass(frozen=True)
class Engine:
    """An engine that answers.

    Attributes:
        env: The environment in which ``docker`` finds it.
        folder: The scratch folder of a private one; None for one that was there before.
    """

    env: Mapping[str, str]
    folder: Path | None = None

    @property
    def network(self) -> list[str]:
        """The flags with which its containers reach a network: a private engine has none of its own."""
        return ["--network=host"] if self.folder is not None else []

    def docker(self, *words: str | Path, log: str) -> None:
        """Runs ``docker``; what it prints goes to a log.

        Raises:
            CommandFailed: it failed.
        """
        run(["docker", *words], log=log_path(log), env=self.env)

    def ask(self, *words: str) -> str | None:
        """Returns what ``docker`` prints, or None where it fails."""
        return output(["docker", *words], env=self.env)


@contextlib.contextmanager
def engine() -> Iterator[Engine]:
    """Returns the engine that answers, or a private one where there is none and the environment allows it.

    Raises:
        NoEngine: there is neither.
    """
    there = Engine(dict(os.environ))
    if there.ask("version") is not None:
        yield there
        return
    if os.environ.get(ENGINE_VARIABLE) != PRIVATE:
        raise NoEngine(
            f"none answers, and {ENGINE_VARIABLE}={PRIVATE} does not ask for one of the test's own"
        )
    _install()
    # A short path, not below TMPDIR: an address of a socket has 107 characters at most.
    folder = Path(tempfile.mkdtemp(prefix="beam-ensembles-engine-", dir="/tmp"))
    try:
        with _started(folder) as private:
            yield private
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _install() -> None:
    if sys.platform != "linux" or os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        raise NoEngine("none answers, and a private one needs root on Debian")
    missing = [package for program, package in _PACKAGES.items() if shutil.which(program) is None]
    if not missing:
        return
    log, env = log_path("engine"), {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        run(["apt-get", "update", "-qq"], log=log, env=env)
        run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], log=log, env=env)
    except CommandFailed as exc:
        raise NoEngine(f"none answers, and apt-get cannot install {' and '.join(missing)}") from exc


@contextlib.contextmanager
def _started(folder: Path) -> Iterator[Engine]:
    socket = f"unix://{folder}/docker.sock"
    env = {**os.environ, "DOCKER_HOST": socket, "DOCKER_CONFIG": f"{folder}/config", "DOCKER_BUILDKIT": "0"}
    places = [
        "--data-root",
        f"{folder}/data",
        "--exec-root",
        f"{folder}/exec",
        "--pidfile",
        f"{folder}/docker.pid",
    ]
    # No network settings of the machine are changed, so its containers share the machine's network.
    quiet = [
        "--bridge=none",
        "--iptables=false",
        "--ip6tables=false",
        "--ip-forward=false",
        "--ip-masq=false",
    ]
    # The engine ends with this process, however that ends.
    command = ["setpriv", "--pdeathsig", "TERM", "dockerd", "--host", socket, *places, *quiet]
    private = Engine(env, folder)
    try:
        with running(command, log=log_path("dockerd")) as daemon:
            try:
                _wait(private, daemon)
                yield private
            finally:
                containers = (private.ask("ps", "--all", "--quiet") or "").split()
                if containers:
                    private.ask("rm", "--force", *containers)
    finally:
        for mount in _mounts_below(folder):
            output(["umount", mount])


def _wait(private: Engine, daemon: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while private.ask("version") is None:
        if daemon.poll() is not None or time.monotonic() > deadline:
            said = tail(log_path("dockerd"), 1) or "it says nothing"
            raise NoEngine(f"none answers, and a private one does not start: {said[-200:]}")
        time.sleep(0.2)
    driver = private.ask("info", "--format", "{{.Driver}}")
    if driver in (None, "vfs"):  # as in a container that may not mount: such an engine can run nothing
        raise NoEngine(f"none answers, and a private one may not mount layers here (storage driver {driver})")


def _mounts_below(folder: Path) -> list[str]:
    """Returns what is mounted below a folder, the innermost first."""
    places = [line.split()[1] for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    return sorted((place for place in places if Path(place).is_relative_to(folder)), reverse=True)
