"""The Python environment: ``.venv`` with uv, the locked requirements, and this project, editable."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from scripts.layout import PYTHON, REQUIREMENTS, ROOT, UV, VENV
from scripts.shell import CommandFailed, log_path, output, run

OLDEST, NEWEST = (3, 11), (3, 13)
LOCK = REQUIREMENTS / "dev.txt"
_STAMP = VENV / ".installed"


def make_venv() -> str:
    """Makes ``.venv`` with uv in it."""
    log = log_path("uv")
    wanted = _pinned(REQUIREMENTS / "uv.txt")
    if output([UV, "--version"]) is None:
        interpreter = _interpreter()
        try:
            run([interpreter, "-m", "venv", "--clear", VENV], log=log)
        except CommandFailed as exc:
            raise CommandFailed(f"{exc}\nOn Debian and Ubuntu: apt-get install python3-venv") from exc
        run([PYTHON, "-m", "pip", "install", "--require-hashes", "-r", REQUIREMENTS / "uv.txt"], log=log)
    elif wanted not in (output([UV, "--version"]) or ""):
        run([PYTHON, "-m", "pip", "install", "--require-hashes", "-r", REQUIREMENTS / "uv.txt"], log=log)
    return f"{output([UV, '--version'])}, {output([PYTHON, '--version'])}"


def install_packages() -> str:
    """Installs the locked requirements and this project, unless that is what is installed."""
    packages = sum(1 for line in LOCK.read_text(encoding="utf-8").splitlines() if "==" in line.split("#")[0])
    digest = _digest()
    if _STAMP.exists() and _STAMP.read_text(encoding="utf-8") == digest:
        return f"{packages} packages, as locked"
    log = log_path("python")
    _STAMP.unlink(missing_ok=True)
    install(["--require-hashes", "-r", LOCK], log)
    install(["--no-deps", "--no-build-isolation", "--editable", ROOT], log)
    _STAMP.write_text(digest, encoding="utf-8")
    return f"{packages} packages installed"


def install(what: list[str | Path], log: Path) -> None:
    """Installs into ``.venv`` with uv."""
    run([UV, "pip", "install", "--python", PYTHON, *what], log=log)


def _pinned(requirements: Path) -> str:
    first = next(line for line in requirements.read_text(encoding="utf-8").splitlines() if "==" in line)
    return first.split("==")[1].split()[0]


def _digest() -> str:
    """What the environment was made from; it cannot be moved, so its place counts."""
    parts = [str(ROOT).encode(), LOCK.read_bytes(), (ROOT / "pyproject.toml").read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _interpreter() -> str:
    """Gives a Python that the project supports: the one that runs this, or one on the path."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            return found
    version = ".".join(map(str, sys.version_info[:2]))
    raise CommandFailed(
        f"Python 3.{OLDEST[1]} to 3.{NEWEST[1]} is needed; python3 is {version} and no other is on the path"
    )
