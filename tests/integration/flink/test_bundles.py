"""The digits ensemble as a bundle, from Go on a real Flink cluster whose workers see none of the service's files."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from beam_ensembles.cli.main import main
from scripts import answers, servers
from scripts.example import Example
from scripts.members import DIGITS
from scripts.pipelines import PROGRAMS, Servers
from tests.support.flink import PIPELINE_SECONDS, Flink, score

pytestmark = pytest.mark.timeout(2 * PIPELINE_SECONDS)
(GO,) = (language for language in PROGRAMS if language.name == "Go")


@dataclasses.dataclass(frozen=True)
class Packed(Example):
    """An example whose ensemble comes in a bundle.

    Attributes:
        bundle: The bundle.
    """

    bundle: Path = Path()

    @property
    def ensemble_file(self) -> Path:
        """The bundle."""
        return self.bundle


def packed(folder: Path) -> Packed:
    """Packs the digits ensemble into a folder."""
    assert main(["pack", str(DIGITS.ensemble_file), "--output", str(folder)]) == 0
    (bundle,) = folder.glob("digits-*.ensemble.zip")
    shutil.copy(DIGITS.input, folder)
    known = {field.name: getattr(DIGITS, field.name) for field in dataclasses.fields(DIGITS)}
    return Packed(**{**known, "made": folder, "bundle": bundle})


def test_workers_get_it_with_the_job(
    flink: Flink, on_flink: Servers, of_prism: list[answers.Answer], tmp_path: Path
) -> None:
    example = packed(tmp_path)
    assert not list(flink.workers_cache.iterdir())
    with servers.service(tmp_path, workers=flink.workers, shared_files=False) as service:
        at = dataclasses.replace(on_flink, service=service)
        found = score(GO, example, at, "flink-bundle")
    assert not answers.incomplete("Go", found, of_prism)
    assert not answers.differences("Prism", of_prism, "Go", found)
    assert list(flink.workers_cache.rglob("digits.yaml")), "they unpacked it themselves"
