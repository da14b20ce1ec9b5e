"""How the pipeline of an example is called, in each language."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping

from scripts.example import Example
from scripts.layout import PYTHON
from scripts.shell import Command, TimedOut, log_path, run
from scripts.toolchains import java, maven

_SECONDS = 600
"""How long a pipeline may take. Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended;
then the pipeline is run once more."""


@dataclasses.dataclass(frozen=True)
class Servers:
    """Where the service is; the runner's job service, and a pool of workers for Python, where there are any."""

    service: str
    runner: str | None
    workers: str | None = None


@dataclasses.dataclass(frozen=True)
class Language:
    """A language that pipelines are written in.

    Attributes:
        name: Its name, as people write it.
        needs: The steps without which a pipeline cannot be run.
        command: Gives the command that runs an example's pipeline.
        finish: Makes JSON lines of what it wrote; None where it writes them itself.
    """

    name: str
    needs: tuple[str, ...]
    command: Callable[[Example, Servers], Command]
    finish: Callable[[Example], object] | None = None

    def score(self, example: Example, servers: Servers, env: Mapping[str, str]) -> None:
        """Runs an example's pipeline.

        Raises:
            CommandFailed: it failed, or did not end in time, twice.
        """
        log = log_path(f"{example.name}-{self.name}")
        call = functools.partial(run, self.command(example, servers), log=log, env=env, seconds=_SECONDS)
        try:
            call()
        except TimedOut:
            call()
        if self.finish is not None:
            self.finish(example)


def flags(example: Example, language: str) -> dict[str, str]:
    """Returns the flags that the pipelines of all languages take, by name."""
    files = {"input": example.input, "output": example.answers(language), "ensemble": example.ensemble_file}
    return {**{name: str(path) for name, path in files.items()}, **example.flags}


def portable(servers: Servers) -> Command:
    """Returns the flags of Beam's Python SDK; those of its in-process runner, none, where there is no other runner."""
    if not servers.runner:
        return []
    pool = ["--environment_type=EXTERNAL", f"--environment_config={servers.workers}"]
    environment = pool if servers.workers else ["--environment_type=LOOPBACK"]
    return ["--runner=PortableRunner", f"--job_endpoint={servers.runner}", *environment]


def python_program(example: Example, servers: Servers) -> Command:
    """Returns the command of an example's Python program, without the flags that are its own."""
    return [PYTHON, example.folder / example.script, *portable(servers)]


def go_program(example: Example, servers: Servers) -> Command:
    """Returns the command of an example's Go program, without the flags that are its own."""
    runner = ["--runner=universal", f"--endpoint={servers.runner}", "--environment_type=LOOPBACK"]
    return [example.go_program, f"--expansion_addr={servers.service}", *runner]


def java_program(example: Example, servers: Servers) -> Command:
    """Returns the command of an example's Java program, without the flags that are its own."""
    runner = ["--runner=PortableRunner", f"--jobEndpoint={servers.runner}"]
    program: Command = ["java", *java.SHORT_LIVED, maven.OPENED, "-cp", example.jar, example.java_class]
    return [*program, f"--expansionService={servers.service}", *runner]


def _program(name: str, needs: tuple[str, ...], program: Callable[[Example, Servers], Command]) -> Language:
    def command(example: Example, servers: Servers) -> Command:
        own = [f"--{flag}={value}" for flag, value in flags(example, name).items()]
        return [*program(example, servers), *own]

    return Language(name, needs, command)


PROGRAMS = (
    _program("Python", ("python",), python_program),
    _program("Go", ("go pipelines",), go_program),
    _program("Java", ("java pipelines", "prism"), java_program),
)
"""The languages that programs are written in."""
