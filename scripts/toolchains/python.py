"""The Python environment: ``.venv`` with uv, locked requirements, and this project, editable.

There are two sets of requirements in the same versions: that of the demo, which is small, and that of development
with every framework, which is gigabytes. The second one holds the first.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from scripts.layout import PYTHON, REQUIREMENTS, ROOT, UV, VENV
from scripts.made import Made
from scripts.shell import CommandFailed, log_path, output, run

OLDEST, NEWEST = (3, 11), (3, 13)
DEMO_LOCK = REQUIREMENTS / "demo.txt"
DEV_LOCK = REQUIREMENTS / "dev.txt"
UV_LOCK = REQUIREMENTS / "uv.txt"
_UV = Made(VENV / ".uv-made", (UV, PYTHON), lambda: [UV_LOCK])
_ALL = Made(VENV / ".made", (), lambda: [DEV_LOCK, ROOT / "pyproject.toml"])
_DEMO = Made(VENV / ".made-demo", (), lambda: [DEMO_LOCK, ROOT / "pyproject.toml"])


def make_venv() -> str:
    """Creates ``.venv`` with uv in it; refuses a link, through which it would empty another checkout's."""
    if VENV.is_symlink():
        raise CommandFailed(
            f"{VENV} is a link to {VENV.resolve()}, which belongs to another checkout; run make setup there, or remove "
            "the link"
        )
    _UV.make(_install_uv)
    return f"{output([UV, '--version'])}, {output([PYTHON, '--version'])}"


def _install_uv() -> None:
    log = log_path("uv")
    try:
        run([_interpreter(), "-m", "venv", "--clear", VENV], log=log)
    except CommandFailed as exc:
        raise CommandFailed(f"{exc}\nOn Debian and Ubuntu: apt-get install python3-venv") from exc
    run([PYTHON, "-m", "pip", "install", "--require-hashes", "-r", UV_LOCK], log=log)


def install_all() -> str:
    """Installs what development needs, with every framework, unless that is what is installed."""
    return f"{packages(DEV_LOCK)} packages, as locked" if _ALL.current() else _install_locked(DEV_LOCK, _ALL)


def install_for_demo() -> str:
    """Installs what the demo needs, unless that, or all that development needs, is what is installed."""
    for lock, made in ((DEV_LOCK, _ALL), (DEMO_LOCK, _DEMO)):
        if made.current():
            return f"{packages(lock)} packages, as locked"
    return _install_locked(DEMO_LOCK, _DEMO)


def packages(lock: Path) -> int:
    """Counts the packages of a lock."""
    return sum(1 for line in lock.read_text(encoding="utf-8").splitlines() if "==" in line.split("#")[0])


def _install_locked(lock: Path, made: Made) -> str:
    log = log_path("python")
    for either in (_ALL, _DEMO):  # one environment: what installs one set changes the other's versions
        either.forget()
    install_lock(lock, log)
    install(["--no-deps", "--no-build-isolation", "--editable", ROOT], log)
    made.remember()
    return f"{packages(lock)} packages installed"


def install_lock(lock: Path, log: Path, python: Path = PYTHON, *, is_compiled: bool = True) -> None:
    """Installs what a lock pins and compiles it, as pip does, unless uv's own ``UV_COMPILE_BYTECODE`` says otherwise.

    Else each process would compile what it imports, forever where ``PYTHONDONTWRITEBYTECODE`` is set.
    """
    compiled = ["--compile-bytecode"] if is_compiled and "UV_COMPILE_BYTECODE" not in os.environ else []
    install(["--require-hashes", *compiled, "-r", lock], log, python)


def lend_bytecode(environment: Path) -> None:
    """Links what ``.venv`` has compiled into an environment of the same Python, beside each module that both have.

    Else the first process there compiles all that it imports, some thousand modules for Beam alone. Modules are the
    same where uv has linked both to one file in its cache.
    """
    (own,) = VENV.glob("lib/python3.*/site-packages")
    site = environment / own.relative_to(VENV)
    for folder, _, files in os.walk(site):
        compiled = own / Path(folder).relative_to(site) / "__pycache__"
        there = set(files)
        for code in compiled.iterdir() if there and compiled.is_dir() else ():
            source = f"{code.name.partition('.')[0]}.py"
            if source in there and _same(compiled.parent / source, Path(folder, source)):
                target = Path(folder, "__pycache__", code.name)
                target.parent.mkdir(exist_ok=True)
                if not target.exists():
                    target.hardlink_to(code)


def _same(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)


def install(what: list[str | Path], log: Path, python: Path = PYTHON) -> None:
    """Installs into ``.venv``, or for another Python, with uv, trusting the authorities that the machine trusts."""
    env = {**os.environ, "UV_SYSTEM_CERTS": "true"}
    run([UV, "pip", "install", "--python", python, *what], log=log, env=env)


def _interpreter() -> str:
    """Returns a Python that the project supports: the one that runs this, or one on the path."""
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
