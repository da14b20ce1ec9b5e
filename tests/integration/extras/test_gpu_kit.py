"""The kit for machines with a GPU, in a bare CPython 3.12 beside what such a machine has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts import gpu_kit
from scripts.layout import REQUIREMENTS, ROOT, UV

ON_THE_MACHINE = ("numpy", "pyarrow", "pandas", "grpcio", "protobuf", "tzdata")
CODE = """
import sys
import apache_beam, apache_beam.ml.inference.base, beam_ensembles.local.ensemble, beam_ensembles_service
import grpc_health.v1.health, grpc_reflection.v1alpha.reflection, hypothesis, pytest, pytest_timeout
from scripts.gpu_acceptance.steps import STEPS
assert not any(name.partition(".")[0] in ("torch", "polars", "xgboost") for name in sys.modules)
print(len(STEPS))
"""


@pytest.fixture(scope="module")
def python() -> str:
    """A CPython of the kit's version, wherever this machine has one."""
    name = f"python{gpu_kit.PYTHON_VERSION}"
    versions = Path.home().glob(f".pyenv/versions/{gpu_kit.PYTHON_VERSION}.*/bin/{name}")
    for candidate in filter(None, [shutil.which(name), *map(str, versions)]):
        if not subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode:
            return candidate
    pytest.skip(f"this machine has no CPython {gpu_kit.PYTHON_VERSION}")


def test_all_that_it_holds_is_imported_and_it_is_small_enough(python: str, tmp_path: Path) -> None:
    kit, machine = tmp_path / "kit", tmp_path / "machine"
    gpu_kit.install(kit)
    gpu_kit.strip(kit)
    gpu_kit.pack(kit, tmp_path / "kit.tar.gz")
    assert (tmp_path / "kit.tar.gz").stat().st_size < gpu_kit.LARGEST
    lock = (REQUIREMENTS / "dev.txt").read_text()
    pins = [
        match[0] for name in ON_THE_MACHINE if (match := re.search(rf"^{name}==[^ ]+", lock, re.MULTILINE))
    ]
    subprocess.run(
        [UV, "pip", "install", "--no-deps", "--python", python, "--target", machine, *pins],
        check=True, env={**os.environ, "UV_SYSTEM_CERTS": "true"},
    )  # fmt: skip
    paths = [ROOT / "python_transforms", ROOT / "expansion_service", ROOT, kit, machine]
    done = subprocess.run(
        [python, "-s", "-c", CODE],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(map(str, paths))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
