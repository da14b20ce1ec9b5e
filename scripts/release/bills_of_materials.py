"""Bills of materials in CycloneDX's JSON: what the packages of each language bring along, and in which versions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scripts.environments import locked_environment
from scripts.layout import BUILD, GO_MODULE, REQUIREMENTS, ROOT
from scripts.shell import Command, CommandFailed, log_path, run
from scripts.toolchains import go, java
from scripts.toolchains.maven import QUIET

FOLDER: Final = BUILD / "release" / "bills-of-materials"
_LOG: Final = "release-bills"
_FOR_GO: Final = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0"
_FOR_MAVEN: Final = "org.cyclonedx:cyclonedx-maven-plugin:2.9.1:makeBom"


def of_python(installed: Path) -> str:
    """Writes two: of the wheel as it is installed without extras, and of the lock with all extras.

    Args:
        installed: The environment in which the wheel is.

    Returns:
        How many components they name, for the note of a step.

    Raises:
        CommandFailed: One cannot be made, or names nothing.
    """
    make = locked_environment("release") / "bin" / "cyclonedx-py"
    about = ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library", "--output-reproducible"]
    plain, every = _bill("python"), _bill("python-all-extras")
    _make(plain, [make, "environment", installed / "bin" / "python", *about, "--output-file", plain])
    _make(every, [make, "requirements", REQUIREMENTS / "dev.txt", *about, "--output-file", every])
    return f"{_components(plain)} dependencies, {_components(every)} with all extras and development"


def of_go() -> str:
    """Writes that of the Go module; result and errors as for Python's."""
    bill = _bill("go")
    command: Command = [
        go.require().path,
        "run",
        _FOR_GO,
        "mod",
        "-json",
        "-noserial",
        "-output",
        bill,
        GO_MODULE,
    ]
    _make(bill, command, cwd=GO_MODULE, env=go.environment())
    return f"{_components(bill)} dependencies"


def of_java(project: Path) -> str:
    """Writes that of the Java library; result and errors as for Python's.

    Args:
        project: A copy of the Maven project that may be written to.
    """
    bill = _bill("java")
    names = [f"-DoutputDirectory={bill.parent}", f"-DoutputName={bill.stem}", "-DoutputFormat=json"]
    _make(
        bill, ["mvn", *QUIET, _FOR_MAVEN, "--projects", "client", *names], cwd=project, env=java.environment()
    )
    return f"{_components(bill)} dependencies"


def _bill(name: str) -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    return FOLDER / f"{name}.cdx.json"


def _make(bill: Path, command: Command, *, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
    bill.unlink(missing_ok=True)
    run(command, log=log_path(_LOG), cwd=cwd, env=env)


def _components(bill: Path) -> int:
    found = json.loads(bill.read_text(encoding="utf-8"))
    if found.get("bomFormat") != "CycloneDX" or not found.get("components"):
        raise CommandFailed(f"{bill} names no component")
    return len(found["components"])
