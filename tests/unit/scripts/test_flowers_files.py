"""The README and the first tutorial show the same ensemble, though not in the same layout."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from scripts.layout import ROOT

PAGES = ("README.md", "docs/get-started/first-ensemble.md")


def shown(page: str, language: str, file: str) -> str:
    """Returns the only block of a page whose first line names a file."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n# {re.escape(file)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_ensembles_are_equal() -> None:
    readme, tutorial = (yaml.safe_load(shown(page, "yaml", "flowers.yaml")) for page in PAGES)
    assert readme["ensemble"] == "flowers"
    assert readme == tutorial
    assert list(readme["nodes"]) == list(tutorial["nodes"])


@pytest.mark.parametrize("file", ["train.py", "pipeline.py"])
def test_the_programs_are_equal(file: str) -> None:
    readme, tutorial = (ast.dump(ast.parse(shown(page, "python", file))) for page in PAGES)
    assert readme == tutorial


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "how-to").glob("*.md")), ids=lambda page: page.stem)
def test_pages_lead_to_the_files_that_their_commands_name(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = "".join(re.findall(r"^ *```sh\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL))
    if re.search(r"\b(flowers\.yaml|linear\.joblib|forest\.joblib)\b", commands):
        assert re.search(r"get-started/(first-ensemble|go|java)\.md", text)
