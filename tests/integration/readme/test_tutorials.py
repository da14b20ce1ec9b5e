"""Tutorials and how-to pages: their files are written, their commands run in order, and print what the page says.

A ``text`` block after commands is their output; ``...`` in it stands for anything, and times, sizes and versions may
differ. All pages but the first start with the files and models of that one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scripts import toolchains
from scripts.environments import locked_environment
from scripts.layout import ROOT
from scripts.servers import SERVICE_VARIABLE
from tests.support import pages
from tests.support.commands import needed, run
from tests.support.service import running_service

FIRST = "get-started/first-ensemble.md"
FOLDERS = ("get-started", "how-to", "concepts")
OTHERS_RUN = ("how-to/generated-types.md", "how-to/tune.md", "how-to/roll-out-model.md")
PAGES = sorted(
    page
    for folder in FOLDERS
    for path in (ROOT / "docs" / folder).glob("*.md")
    if (page := f"{folder}/{path.name}") not in OTHERS_RUN
    and any(block.run_by is None and block.not_run is None for block in pages.blocks(page))
)
PRISM_OF_PAGES = "localhost:8073"


def write(page: str, folder: Path) -> None:
    """Writes the files of a page into a folder."""
    for name, text in pages.named_files(page).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as somebody has it who wrote the files of the first page and trained its models."""
    folder = tmp_path_factory.mktemp("first")
    write(FIRST, folder)
    run("python", "train.py", folder=folder)
    return folder


@pytest.fixture
def folder(flowers: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(flowers, tmp_path / "page"))


@pytest.mark.parametrize("page", PAGES)
def test_the_page_does_what_it_says(page: str, folder: Path) -> None:
    write(page, folder)
    for block, text in pages.outputs(page):
        if block.run_by is None and block.not_run is None:
            found = run("bash", "-euc", block.text, folder=folder)
            pages.assert_says(text, found)


def commands(page: str, first: str, prism: str = PRISM_OF_PAGES) -> str:
    """Returns the commands of a page's block, with the address of the tests' Prism."""
    return pages.block_with(page, first).text.replace(PRISM_OF_PAGES, prism)


def answer(page: str) -> str:
    """Returns the last output that a page shows."""
    return [text for _, text in pages.outputs(page) if text is not None][-1]


def in_order(text: str) -> str:
    """Returns the lines of a text, sorted."""
    return "\n".join(sorted(text.split("\n"))).strip() + "\n"


def test_go(folder: Path, tmp_path: Path) -> None:
    """The modules come into an empty cache; the program is compiled with the machine's, where Beam is compiled."""
    go = needed("go")
    page = "get-started/go.md"
    write(page, folder)
    modules, program = commands(page, "go mod init").split("go run .\n")
    env = {
        **{name: value for name, value in toolchains.environment().items() if name != SERVICE_VARIABLE},
        "CHECKOUT": str(ROOT),
        "PATH": os.environ["PATH"],
    }
    cache, proxy = run(go, "env", "GOMODCACHE", "GOPROXY", folder=folder).split()
    empty = {
        "GOMODCACHE": str(tmp_path / "modules"),
        "GOFLAGS": "-modcacherw",
        "GOPROXY": f"file://{cache}/cache/download,{proxy}",  # What this machine has downloaded comes first.
        "GONOSUMDB": "*",
    }
    run("bash", "-euc", modules, folder=folder, **env, **empty)
    shutil.rmtree(tmp_path / "modules")
    found = run("bash", "-euc", f"go run .\n{program}", folder=folder, **env)
    pages.assert_says(answer(page), in_order(found))


def test_beam_yaml(folder: Path, prism: str) -> None:
    page = "get-started/beam-yaml.md"
    write(page, folder)
    (serve,) = pages.block_with(page, "beam-ensembles serve").commands()
    flags = [str(folder) if word == "." else word for word in serve[2:]]
    with running_service(*flags) as service:
        pipeline = folder / "pipeline.yaml"
        pipeline.write_text(pipeline.read_text().replace("localhost:8097", service.address))
        path = f"{locked_environment('beam_yaml') / 'bin'}{os.pathsep}{os.environ['PATH']}"
        text = commands(page, "python -m apache_beam.yaml.main", prism)
        found = run("bash", "-euc", text, folder=folder, PATH=path)
    pages.assert_says(answer(page), in_order("\n".join(found.splitlines()[-2:])))
