"""Environments with this project and one of its extras alone."""

from __future__ import annotations

import os
from pathlib import Path

from scripts.layout import BUILD, PYTHON, ROOT, UV
from scripts.made import Made
from scripts.shell import Command, log_path, run
from scripts.toolchains.python import DEV_LOCK, lend_bytecode


def extra_environment(extra: str) -> Path:
    """Returns the Python of an environment with one extra, in the locked versions.

    It is made anew where the lock or the project's metadata are others than when it was made. It is next to the
    checkout's other builds, so that uv can link what it has installed before instead of copying gigabytes.
    """
    folder = BUILD / "extras" / extra
    python = folder / "bin" / "python"
    made = Made(folder / ".made", (python,), lambda: [DEV_LOCK, ROOT / "pyproject.toml"])

    def work() -> None:
        log = log_path(f"extra-{extra}")
        run([UV, "venv", "--clear", "--python", PYTHON, folder], log=log)
        install: Command = [UV, "pip", "install", "--python", python]
        project: Command = ["--constraint", DEV_LOCK, "--editable", f"{ROOT}[{extra}]"]
        run([*install, *project], log=log, env={**os.environ, "UV_SYSTEM_CERTS": "true"})
        lend_bytecode(folder)

    made.make(work)
    return python
