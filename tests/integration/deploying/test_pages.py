"""The commands of docs/deploy/deploying.md: run as written, or by what they say runs them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from scripts import toolchains
from scripts.layout import PYTHON, ROOT
from tests.support.pages import Block, blocks, path_of

PAGES = ("deploy/deploying.md", "deploy/dataflow.md", "project/releasing.md")
ALL = [block for page in PAGES for block in blocks(page)]
HERE = [block for block in ALL if block.run_by is None and block.not_run is None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a checkout has, in a folder where new files do no harm; with a few images to score."""
    for name in ("examples", "go_examples", "java_examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    demo = tmp_path / "build" / "demo"
    demo.mkdir(parents=True)
    pixels = ", ".join(["0"] * 64)
    (demo / "heldout.jsonl").write_text("".join(f'{{"id": {i}, "pixels": [{pixels}]}}\n' for i in range(40)))
    return tmp_path


@pytest.mark.parametrize("block", HERE, ids=str)
def test_commands_that_nobody_else_runs(block: Block, folder: Path) -> None:
    env = {**toolchains.environment(), "BEAM_ENSEMBLES_PYTHON": str(PYTHON)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{block.text}\n{done.stdout}"


def test_there_are_some() -> None:
    assert len(HERE) >= 1
    assert {block.page for block in ALL} == set(PAGES)


@pytest.mark.parametrize("block", [b for b in ALL if b.run_by], ids=str)
def test_what_runs_the_others_is_there(block: Block) -> None:
    assert block.run_by is not None
    who = block.run_by.partition(",")[0]
    if who.startswith("make "):
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert who.removeprefix("make ") in targets
    else:
        assert (ROOT / who).exists()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path_of(page).read_text())
    missing = [link for link in links if "://" not in link and not (path_of(page).parent / link).exists()]
    assert missing == []


def test_sections_that_the_page_links_to_are_there() -> None:
    text = path_of("deploy/deploying.md").read_text()
    titles = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.+)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= titles
