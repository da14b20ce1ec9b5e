"""Commands of READMEs and pages, run as a reader would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.servers import SERVICE_VARIABLE


def run(*command: object, folder: Path, **variables: str) -> str:
    """Runs a command without a service that the suite started; gives its standard output, and shows all where it fails.

    Args:
        command: Its words. This environment's ``beam-ensembles`` and ``python`` are found first.
        folder: Where it runs.
        variables: Further variables of its environment.
    """
    own = {name: value for name, value in os.environ.items() if name != SERVICE_VARIABLE}
    path = f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"
    env = own | {"BEAM_ENSEMBLES_PYTHON": sys.executable, "PATH": path} | variables
    words = list(map(str, command))
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def needed(program: str) -> str:
    """Returns the path of a program, or skips the test."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"there is no {program} here")
    return path
