"""The Python package: wheel and source distribution, checked as PyPI will and as who installs it will."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Final

from scripts.environments import locked_environment
from scripts.layout import PYTHON, REQUIREMENTS, UV
from scripts.release.coordinates import PYTHON_PACKAGE
from scripts.shell import CommandFailed, log_path, output, run
from scripts.toolchains.python import install, lend_bytecode

_LOG: Final = "release-python"
_ENSEMBLE: Final = """\
ensemble: pair
inputs: {a: double, b: double}
nodes:
  middle: {combine: mean, inputs: [a, b], outputs: {m: double}}
"""
_NEEDED: Final = ("LICENSE", "METADATA", "entry_points.txt")


def make(folder: Path, version: str) -> str:
    """Builds both into an empty folder and checks them; gives a note.

    Args:
        folder: Where to; only the two files lie there afterwards.
        version: What they must say.

    Raises:
        CommandFailed: Something is wrong with one.
    """
    log = log_path(_LOG)
    run([PYTHON, "-m", "hatchling", "build", "-d", folder], log=log)
    wheel, sdist = _only(folder, "*.whl"), _only(folder, "*.tar.gz")
    twine = locked_environment("release") / "bin" / "twine"
    run([twine, "check", "--strict", wheel, sdist], log=log)
    _check_contents(wheel)
    _check_sdist_builds_the_same(sdist, wheel, folder.with_name("python-from-sdist"))
    _check_installed(wheel, version, folder.with_name("python-installed"))
    return f"{wheel.name} ({wheel.stat().st_size // 1024} KiB), {sdist.name}"


def _only(folder: Path, pattern: str) -> Path:
    files = list(folder.glob(pattern))
    if len(files) != 1:
        raise CommandFailed(f"{folder} should hold one {pattern}, not {[file.name for file in files]}")
    return files[0]


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _check_contents(wheel: Path) -> None:
    names = _names(wheel)
    missing = [name for name in _NEEDED if not any(found.endswith(name) for found in names)]
    missing += [
        f"{package}/py.typed"
        for package in ("beam_ensembles", "beam_ensembles_service")
        if f"{package}/py.typed" not in names
    ]
    strange = sorted(name for name in names if re.match(r"(tests|scripts|examples|build)/", name))
    if missing or strange:
        raise CommandFailed(f"{wheel.name} lacks {missing}, and holds {strange} that it should not")


def _check_sdist_builds_the_same(sdist: Path, wheel: Path, folder: Path) -> None:
    folder.mkdir()
    run(["tar", "-xzf", sdist, "-C", folder], log=log_path(_LOG))
    (source,) = folder.iterdir()
    run([PYTHON, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], log=log_path(_LOG), cwd=source)
    differing = _names(_only(folder, "*.whl")) ^ _names(wheel)
    if differing:
        raise CommandFailed(f"{sdist.name} builds a wheel that differs in {sorted(differing)}")


def _check_installed(wheel: Path, version: str, folder: Path) -> None:
    """Installs the wheel where nothing else of this project is, and calls it."""
    log = log_path(_LOG)
    run([UV, "venv", "--clear", "--python", PYTHON, folder], log=log)
    python, program = folder / "bin" / "python", folder / "bin" / PYTHON_PACKAGE
    install(["--constraint", REQUIREMENTS / "dev.txt", wheel], log, python)
    lend_bytecode(folder)
    said = output([program, "--version"])
    if said != f"{PYTHON_PACKAGE} {version}":
        raise CommandFailed(f"{PYTHON_PACKAGE} --version says {said!r}, not {version}")
    ensemble = folder / "pair.yaml"
    ensemble.write_text(_ENSEMBLE, encoding="utf-8")
    for verb in ("validate", "plan"):
        run([program, verb, ensemble], log=log)
