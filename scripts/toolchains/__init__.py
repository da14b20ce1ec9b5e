"""Finds, and where it can installs, what the three languages need."""

from __future__ import annotations

import os

from scripts.layout import VENV
from scripts.toolchains import go, java


def environment() -> dict[str, str]:
    """Returns the environment in which ``python``, ``go``, ``java`` and ``mvn`` are the ones found here."""
    env = {**java.environment(), **go.SETTINGS}
    compiler = go.find()
    folders = [VENV / "bin", *(compiler.folders if compiler is not None else [])]
    env["PATH"] = os.pathsep.join([*map(str, folders), env.get("PATH", os.defpath)])
    return env
