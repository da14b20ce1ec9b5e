"""Go and Java pipelines whose workers, in containers, get the ensemble, its models and its code with the pipeline.

The containers see no folder of this machine, the service's none but the one that the bundle lies in.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.containers.engine import Engine
from scripts.layout import PYTHON
from scripts.members import DIGITS
from tests.support.containers import service, worker_pool
from tests.support.digits import answers

pytestmark = pytest.mark.timeout(600)
LANGUAGES = pytest.mark.parametrize("language", ["go", "java"])
CODE = """\
def judge(pixels):
    ink = pixels.sum(axis=1)
    words = ["much" if one > 300 else "little" for one in ink]
    same = {name: words for name in ("label", "forest_label", "boost_label", "network_label")}
    return {**same, "confidence": ink / 1024}
"""
INK = """\
ensemble: ink
inputs: {pixels: "array<double>[64]"}
nodes:
  judge:
    apply: python
    function: packed_team.ink.judge
    inputs: [pixels]
    outputs: {label: string, confidence: double, forest_label: string, boost_label: string, network_label: string}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of bundles that the service's user may read."""
    found = tmp_path_factory.mktemp("bundles")
    for above in (found, *found.parents[:2]):
        above.chmod(0o755)
    return found


@pytest.fixture(scope="module")
def digits(folder: Path) -> Path:
    """The digits ensemble as a bundle."""
    return _packed(DIGITS.ensemble_file, folder)


@pytest.fixture(scope="module")
def ink(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ensemble of nothing but a function of one's own, as a bundle."""
    originals = tmp_path_factory.mktemp("ink")
    (originals / "packed_team").mkdir()
    (originals / "packed_team" / "__init__.py").touch()
    (originals / "packed_team" / "ink.py").write_text(CODE, encoding="utf-8")
    (originals / "ink.yaml").write_text(INK, encoding="utf-8")
    return _packed(originals / "ink.yaml", folder, "--code", str(originals / "packed_team"))


def _packed(file: Path, folder: Path, *more: str) -> Path:
    command = [PYTHON, "-m", "beam_ensembles.cli.main", "pack", file, "--output", folder, *more]
    subprocess.run(command, check=True)
    (found,) = folder.glob(f"{file.stem}-*.ensemble.zip")
    return found


@pytest.fixture(scope="module")
def in_docker(engine: Engine, service_image: str, worker_image: str, folder: Path) -> Iterator[str]:
    """The address of a service whose workers the runner starts in containers."""
    workers = ("--environment-type", "DOCKER", "--environment-config", worker_image)
    policy = ("--trust", str(folder), "--allow-code", "packed_team.*")
    with service(engine, service_image, (folder,), *workers, *policy) as (_, address):
        yield address


@LANGUAGES
def test_workers_that_the_runner_starts(
    in_docker: str, digits: Path, language: str, request: pytest.FixtureRequest, expected: Any, tmp_path: Path
) -> None:
    done = request.getfixturevalue(language)(in_docker, tmp_path / "scored.jsonl", digits)
    assert done.returncode == 0, done.stderr
    assert answers(tmp_path / "scored.jsonl") == expected


def test_code_of_ones_own(in_docker: str, ink: Path, go: Any, tmp_path: Path) -> None:
    done = go(in_docker, tmp_path / "scored.jsonl", ink)
    assert done.returncode == 0, done.stderr
    assert {label for label, _ in answers(tmp_path / "scored.jsonl").values()} == {"much", "little"}


def test_a_pool_of_workers(
    engine: Engine,
    service_image: str,
    worker_image: str,
    folder: Path,
    digits: Path,
    go: Any,
    expected: Any,
    tmp_path: Path,
) -> None:
    with worker_pool(engine, worker_image, ()) as pool:
        workers = ("--environment-type", "EXTERNAL", "--environment-config", pool)
        with service(engine, service_image, (folder,), *workers, "--trust", str(folder)) as (_, address):
            done = go(address, tmp_path / "scored.jsonl", digits)
    assert done.returncode == 0, done.stderr
    assert answers(tmp_path / "scored.jsonl") == expected
