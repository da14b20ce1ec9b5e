"""``make release-check`` makes the packages of all languages, and publishes nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import beam_ensembles
from scripts.layout import ROOT


@pytest.mark.timeout(1200)
def test_the_dry_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.release"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    version = beam_ensembles.__version__
    for made in ("python", "images", "go", "java"):
        assert f"  ok  {made}" in done.stdout or f"  --  {made}" in done.stdout, done.stdout
    assert f"nothing was published. --publish {version} would run:" in done.stdout
    assert f"git push origin v{version} go_examples/v{version}" in done.stdout
