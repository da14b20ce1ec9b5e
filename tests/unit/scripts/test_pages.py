"""Every ensemble file that a page shows is right, but for files that only its reader has."""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from pathlib import Path

import pytest

from beam_ensembles.cli.main import main
from scripts.layout import ROOT

_YAML = re.compile(r"^( *)```yaml\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = {"missing_file", "missing_parameter"}
FILES = [
    pytest.param(text, id=f"{page.relative_to(ROOT / 'docs').with_suffix('')}-{number}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for number, found in enumerate(_YAML.finditer(page.read_text(encoding="utf-8")))
    if re.search(r"^ensemble:", text := textwrap.dedent(found[2]), re.MULTILINE)
]


@pytest.mark.parametrize("text", FILES)
def test_ensemble_files(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "page.yaml"
    file.write_text(text, encoding="utf-8")
    main(["validate", str(file), "--json"])
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [problem for problem in problems if problem["code"] not in ELSEWHERE] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_text_after_a_table_is_not_a_row_of_it(page: Path) -> None:
    lines = _FENCED.sub("", page.read_text(encoding="utf-8")).splitlines()
    found = [
        text
        for before, text in itertools.pairwise(line.strip() for line in lines)
        if before.startswith("|") and text and not text.startswith(("|", "<!--"))
    ]
    assert found == []


def test_there_are_some() -> None:
    assert len(FILES) > 15
