"""Runs code in an interpreter that has imported nothing yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run_python(code: str, *path: Path) -> str:
    """Runs code in a fresh interpreter and gives what it prints.

    Args:
        code: Python; ``sys`` is imported.
        path: Folders to find modules in before all others.
    """
    head = f"import sys; sys.path[:0] = {[*map(str, path), *sys.path]!r}\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
