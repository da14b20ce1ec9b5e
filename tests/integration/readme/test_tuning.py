"""The page on tuning, on the fraud example: its commands run as written and change only the numbers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.layout import ROOT
from tests.support import pages


def test_the_page_on_tuning(tmp_path: Path) -> None:
    here = Path("examples", "fraud")
    shutil.copytree(ROOT / here, tmp_path / here, ignore=shutil.ignore_patterns("models"))
    blocks = [
        one
        for one in pages.blocks("how-to/tune.md")
        if one.run_by == "tests/integration/readme/test_tuning.py"
    ]
    assert len(blocks) == 2
    commands = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    said = []
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euc", block.text],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=540,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert "agreement with forest >= 0.995 holds with 95 % confidence" in said[0]
    assert "recall >= 0.9 holds with 95 % confidence" in said[1]
    old = (tmp_path / here / "fraud.yaml").read_text().splitlines()
    new = (tmp_path / here / "tuned.yaml").read_text().splitlines()
    changed = [one.split(":")[0].strip() for one, other in zip(new, old, strict=True) if one != other]
    assert changed == ["unsure_from", "review_from"]
