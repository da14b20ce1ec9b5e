"""``make release-check`` makes the packages of all languages, and publishes nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import beam_ensembles
from scripts.layout import ROOT
from scripts.release.bills_of_materials import FOLDER


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
    assert f"git push origin v{version} go_examples/ensemble/v{version}" in done.stdout
    audited = "no known weaknesses" in done.stdout
    assert audited or "NOT AUDITED" in done.stdout, done.stdout
    bills = {path.name: json.loads(path.read_text()) for path in FOLDER.glob("*.cdx.json")}
    for name in ("python", "python-all-extras"):
        components = {part["name"] for part in bills[f"{name}.cdx.json"]["components"]}
        assert "apache-beam" in {part.replace("_", "-") for part in components}
