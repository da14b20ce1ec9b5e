"""How the digits pipeline of each language is built and called."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from scripts.layout import DEMO, DIGITS, PYTHON, TOOLS, relative
from scripts.members import HELDOUT
from scripts.toolchains import go, maven

ENSEMBLE = DIGITS / "digits.yaml"
GO_PIPELINE = TOOLS / "digits"


@dataclasses.dataclass(frozen=True)
class Servers:
    """Where the service is, and the runner's job service where there is one."""

    service: str
    runner: str | None


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """One language's pipeline.

    Attributes:
        language: Its name, as people write it.
        needs: The steps without which it cannot be run.
        command: Gives the command that runs it, but for input, output and ensemble.
    """

    language: str
    needs: tuple[str, ...]
    command: Callable[[Servers], list[str | Path]]

    @property
    def scored(self) -> Path:
        """The file that the pipeline writes."""
        return DEMO / f"{self.language.lower()}-scored.jsonl"

    @property
    def answers(self) -> Path:
        """The file of the answers, ordered and comparable."""
        return DEMO / f"{self.language.lower()}.jsonl"

    def call(self, servers: Servers) -> list[str | Path]:
        """Gives the whole command."""
        files = [f"--input={HELDOUT}", f"--output={self.scored}", f"--ensemble={ENSEMBLE}"]
        return [*self.command(servers), *files]


def build_go() -> str:
    """Builds the Go pipeline."""
    go.build("./cmd/digits", GO_PIPELINE)
    return relative(GO_PIPELINE)


def _python(servers: Servers) -> list[str | Path]:
    """On Beam's in-process runner where there is no Prism."""
    portable = ["--runner=PortableRunner", f"--job_endpoint={servers.runner}", "--environment_type=LOOPBACK"]
    return [PYTHON, DIGITS / "pipeline.py", *(portable if servers.runner else [])]


def _go(servers: Servers) -> list[str | Path]:
    runner = ["--runner=universal", f"--endpoint={servers.runner}", "--environment_type=LOOPBACK"]
    return [GO_PIPELINE, f"--expansion_addr={servers.service}", *runner]


def _java(servers: Servers) -> list[str | Path]:
    runner = ["--runner=PortableRunner", f"--jobEndpoint={servers.runner}"]
    return ["java", "-jar", maven.DIGITS_JAR, f"--expansionService={servers.service}", *runner]


PIPELINES = (
    Pipeline("Python", ("python",), _python),
    Pipeline("Go", ("go digits",), _go),
    Pipeline("Java", ("java digits", "prism"), _java),
)
