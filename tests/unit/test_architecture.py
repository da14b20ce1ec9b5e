"""ARCHITECTURE.md names modules and folders that there are, and stays short."""

from __future__ import annotations

import re
import subprocess

from scripts.layout import ROOT

_ROOTS = (
    "",
    "python_transforms/beam_ensembles/",
    "python_transforms/beam_ensembles/graph/",
    "expansion_service/beam_ensembles_service/",
)
_TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_all_that_it_names_is_there() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = frozenset(listed.split())
    folders = {file[: at + 1] for file in files for at, letter in enumerate(file) if letter == "/"}
    names = {file.rpartition("/")[2] for file in files}
    named = re.findall(r"`([\w./-]+(?:\.py|\.go|/))`", _TEXT)
    assert len(named) > 100
    assert [
        name
        for name in named
        if name not in names and not any(root + name in files | folders for root in _ROOTS)
    ] == []


def test_it_is_read_in_one_go() -> None:
    assert len(_TEXT.splitlines()) <= 150
