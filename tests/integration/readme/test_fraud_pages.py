"""The pages that lead through the fraud example: their commands run as written and print what the pages say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from scripts.layout import ROOT
from tests.support import pages
from tests.support.commands import run

HERE = Path("examples", "fraud")
MADE_THEN_RUN = """
import subprocess, sys
sys.path.insert(0, "examples/fraud")
import apache_beam as beam
from beam_ensembles import RunEnsemble
from pipeline import Payment, read_payment
with beam.Pipeline(runner="FnApiRunner") as pipeline:
    rows = pipeline | beam.io.ReadFromText("few.jsonl") | beam.Map(read_payment).with_output_types(Payment)
    scored = rows | RunEnsemble("examples/fraud/fraud.yaml", refresh_interval_secs=3600)
    scored | beam.Map(lambda row: print(row.decision))
    subprocess.run(sys.argv[1:], check=True)
"""
"""A pipeline, between whose making and whose run a command runs."""
FEW = 500

pytestmark = pytest.mark.timeout(1_800)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the example, as a checkout has it before anything is trained."""
    made = shutil.ignore_patterns("models", "*.lock.*")
    shutil.copytree(ROOT / HERE, tmp_path / HERE, ignore=made)
    return tmp_path


def follow(page: str, folder: Path) -> None:
    """Writes the files of a page, and runs its commands in order."""
    for name, text in pages.named_files(page).items():
        (folder / name).write_text(text, encoding="utf-8")
    for block, text in pages.outputs(page):
        if block.not_run is None:
            pages.assert_says(text, run("bash", "-euc", block.text, folder=folder))


def test_the_page_on_tuning(checkout: Path) -> None:
    follow("how-to/tune.md", checkout)
    old = (checkout / HERE / "fraud.yaml").read_text().splitlines()
    new = (checkout / HERE / "tuned.yaml").read_text().splitlines()
    changed = [one.split(":")[0].strip() for one, other in zip(new, old, strict=True) if one != other]
    assert changed == ["unsure_from", "review_from"]


def test_the_page_on_rolling_out(checkout: Path) -> None:
    page = "how-to/roll-out-model.md"
    follow(page, checkout)
    (limits,) = [text for text in pages.blocks_of(page, "yaml") if "refresh" in yaml.safe_load(text)]
    with (checkout / HERE / "fraud.yaml").open("a", encoding="utf-8") as file:
        file.write(f"\n{limits}")
    lines = (checkout / "build" / "examples" / "fraud" / "rows.jsonl").read_text().splitlines(keepends=True)
    (checkout / "few.jsonl").write_text("".join(lines[:FEW]))
    assert len(run("python", "-c", MADE_THEN_RUN, "true", folder=checkout).split()) == FEW
    retrained = ("python", HERE / "retrain.py", "--cents")
    with pytest.raises(AssertionError, match=r"is beyond the limits of the lock .*limit 10%"):
        run("python", "-c", MADE_THEN_RUN, *retrained, folder=checkout)
