"""Environments of their own for programs whose requirements are not this project's: real servers, tools."""

from __future__ import annotations

from pathlib import Path

from scripts.layout import BUILD, PYTHON, REQUIREMENTS, UV
from scripts.made import Made
from scripts.shell import log_path, run
from scripts.toolchains.python import install, install_lock, lend_bytecode


def locked_environment(name: str, *, compiled: bool = False) -> Path:
    """Returns the folder of an environment; makes it where it is not there, or of other versions.

    Args:
        name: The name of its lock below ``requirements``.
        compiled: Whether all its modules are compiled at once, for who measures the start of programs. Most of them
            are never imported, and to compile them takes half a minute of a core.
    """
    folder, lock = BUILD / "servers" / name, REQUIREMENTS / f"{name}.txt"
    python = folder / "bin" / "python"
    made = Made(folder / ".made", (python,), lambda: [lock])

    def work() -> None:
        log = log_path(f"{name}-environment")
        run([UV, "venv", "--clear", "--python", PYTHON, folder], log=log)
        install_lock(lock, log, python, is_compiled=compiled)
        if not compiled:
            lend_bytecode(folder)

    made.make(work)
    return folder


def locked_packages(name: str) -> Path:
    """Returns a folder of packages for ``PYTHONPATH``, beside those of ``.venv``; makes it where it is not there.

    Args:
        name: The name of their lock below ``requirements``; their dependencies are not installed.
    """
    folder, lock = BUILD / "servers" / name, REQUIREMENTS / f"{name}.txt"
    made = Made(folder / ".made", (), lambda: [lock])

    def work() -> None:
        what: list[str | Path] = ["--target", folder, "--no-deps", "--require-hashes", "-r", lock]
        install(what, log_path(f"{name}-packages"))

    made.make(work)
    return folder
