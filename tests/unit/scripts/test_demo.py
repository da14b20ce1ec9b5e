"""The demonstration starts with nothing but the Python of the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripts.layout import ROOT


@pytest.mark.parametrize("module", ["scripts.demo", "scripts.setup", "scripts.tool"])
def test_what_makes_the_environment_needs_no_library(module: str) -> None:
    without_libraries = [sys.executable, "-S", "-c", f"import {module}"]
    done = subprocess.run(without_libraries, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
