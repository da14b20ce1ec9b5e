"""The manifests by Kubernetes' own schemas, oldest and newest version that the documentation names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.environments import locked_environment
from scripts.layout import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
MANIFESTS = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")


def complaints(version: str, *files: Path) -> str:
    """Returns what the validator says against files; nothing where they are right."""
    program = locked_environment("release") / "bin" / "kubernetes-validate"
    command = [program, "--strict", "--quiet", "--no-warn", "-k", version, *files]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert (done.returncode == 0) == (not done.stdout.strip()), done.stdout
    return done.stdout


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_the_manifests_are_valid(version: str) -> None:
    assert complaints(version, *MANIFESTS) == ""


def test_a_wrong_key_would_be_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((FOLDER / "expansion-service.yaml").read_text().replace("livenessProbe", "aliveProbe"))
    assert "aliveProbe" in complaints("1.30", wrong)
