"""``python -m scripts.upcoming``: installs Beam's next release candidate and the newest frameworks beside ``.venv``."""

from __future__ import annotations

import re
import sys
import tomllib
from typing import Any, Final

from scripts.layout import BUILD, ROOT, UV, VENV, relative
from scripts.program import exit_code, say
from scripts.shell import log_path, run
from scripts.toolchains import python

FOLDER: Final = BUILD / "upcoming"
_NAME: Final = re.compile(r"([\w.-]+(?:\[[\w,.-]+\])?)[^;]*(;.*)?")
_CANDIDATES: Final = {"apache-beam": ">=2.77rc0"}
"""Of which even what is not released yet is taken."""
_LIMITED: Final = ("pandas", "setuptools")
"""What Beam and tensorflow-hub are known to fail with, in newer versions: see pyproject.toml."""


def requirements(project: dict[str, Any]) -> list[str]:
    """Returns each requirement of the project and its extras without limits; the tools of development keep theirs."""
    extras = dict(project["optional-dependencies"])
    tools: list[str] = extras.pop("dev")
    wanted = [*project["dependencies"], *(one for some in extras.values() for one in some)]
    own = f"{project['name']}["
    return sorted({_unlimited(one) for one in wanted if not one.startswith(own)}) + tools


def _unlimited(requirement: str) -> str:
    found = _NAME.fullmatch(requirement)
    if found is None:
        raise ValueError(f"'{requirement}' names no package")
    name, marker = found[1], found[2] or ""
    if name in _LIMITED:
        return requirement
    return f"{name}{_CANDIDATES.get(name, '')} {marker}".rstrip()


def main() -> bool:
    """Creates the environment anew."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = FOLDER / "requirements.txt"
    written.write_text("\n".join(requirements(project)) + "\n", encoding="utf-8")
    log = log_path("upcoming")
    place = FOLDER / ".venv"
    run([UV, "venv", "--clear", "--python", VENV / "bin" / "python", place], log=log)
    interpreter = place / "bin" / "python"
    python.install(["-r", written], log, interpreter)
    python.install(["--no-deps", "--editable", ROOT], log, interpreter)
    say(f"{relative(interpreter)}: {relative(log)} has the versions")
    return True


if __name__ == "__main__":
    sys.exit(exit_code(main))
