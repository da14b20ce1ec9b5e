"""Go and Java pipelines whose Python stages run in containers of the worker image, on real Prism."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.containers.engine import Engine
from scripts.layout import ROOT
from scripts.members import DIGITS
from tests.support.containers import derived, service
from tests.support.digits import answers

HERE = DIGITS.folder
DOCS = ROOT / "docs" / "deploy" / "containers.md"
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def team_image(engine: Engine, worker_image: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A worker image with a package and models of one's own, as docs/deploy/containers.md shows."""
    folder = tmp_path_factory.mktemp("team")
    package = folder / "our_team"
    (package / "our_team").mkdir(parents=True)
    (package / "pyproject.toml").write_text('[project]\nname = "our-team"\nversion = "1"\n', encoding="utf-8")
    (package / "our_team" / "__init__.py").write_text("", encoding="utf-8")
    (package / "our_team" / "ink.py").write_text(
        "def judge(pixels):\n"
        "    ink = pixels.sum(axis=1)\n"
        "    words = ['much' if one > 300 else 'little' for one in ink]\n"
        "    same = {name: words for name in ('label', 'forest_label', 'boost_label', 'network_label')}\n"
        "    return {**same, 'confidence': ink / 1024}\n",
        encoding="utf-8",
    )
    shutil.copytree(HERE / "models", folder / "models")
    (shown,) = re.findall(
        r"^```dockerfile\n(FROM .*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert shown.startswith(f"FROM {worker_image}\n")
    models = f"COPY models {HERE}/models"
    return derived(engine, "beam-ensembles-team", folder, *shown.splitlines(), models)


@pytest.fixture(scope="module")
def in_docker(engine: Engine, service_image: str, team_image: str) -> Iterator[str]:
    """The address of a service in a container, whose workers the runner starts in containers."""
    workers = ("--environment-type", "DOCKER", "--environment-config", team_image, "--shared-files")
    policy = ("--trust", str(HERE), "--allow-code", "our_team.*")
    with service(engine, service_image, (HERE,), *workers, *policy) as (_, address):
        yield address


def test_go_with_workers_that_the_runner_starts(
    in_docker: str, go: Any, expected: Any, tmp_path: Path
) -> None:
    done = go(in_docker, tmp_path / "scored.jsonl")
    assert done.returncode == 0, done.stderr
    assert answers(tmp_path / "scored.jsonl") == expected


def test_go_with_a_function_of_ones_own_package(in_docker: str, go: Any, tmp_path: Path) -> None:
    ensemble = tmp_path / "ink.yaml"
    outputs = "{label: string, confidence: double, forest_label: string, boost_label: string, network_label: string}"
    ensemble.write_text(
        'ensemble: ink\ninputs: {pixels: "array<double>[64]"}\nnodes:\n'
        f"  judge: {{apply: python, function: our_team.ink.judge, inputs: [pixels], outputs: {outputs}}}\n",
        encoding="utf-8",
    )
    done = go(in_docker, tmp_path / "scored.jsonl", ensemble)
    assert done.returncode == 0, done.stderr
    assert {label for label, _ in answers(tmp_path / "scored.jsonl").values()} == {"much", "little"}


@pytest.fixture(scope="module")
def with_others(
    engine: Engine, service_image: str, worker_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a service whose workers, in containers, are of another version."""
    found = "import beam_ensembles; print(beam_ensembles.__file__)"
    change = f"sed -i 's/^__version__.*/__version__ = \"9.9.9\"/' $(python -c '{found}')"
    lines = (f"FROM {worker_image}", "USER 0", f"RUN {change}", "USER 65532")
    other = derived(engine, "beam-ensembles-other", tmp_path_factory.mktemp("other"), *lines)
    workers = ("--environment-type", "DOCKER", "--environment-config", other, "--shared-files")
    with service(engine, service_image, (HERE,), *workers, "--trust", str(HERE)) as (_, address):
        yield address


@pytest.mark.parametrize("language", ["go", "java"])
def test_a_worker_of_another_version_says_so(
    with_others: str, language: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    done = request.getfixturevalue(language)(with_others, tmp_path / "scored.jsonl")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "ensemble 'digits' was expanded with beam-ensembles 0.1.0, Beam 2.77.0 and Python 3." in said
    assert (
        "but this worker has beam-ensembles 9.9.9: the service and its workers must have the same versions"
        in said
    )
    assert "Traceback" not in said
