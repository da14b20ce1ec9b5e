"""docs/reference/environment.md has each variable of this project that its code reads, and no other."""

from __future__ import annotations

import re
import subprocess

from scripts.layout import ROOT

PAGE = ROOT / "docs" / "reference" / "environment.md"
_NAME = re.compile(r"\bBEAM_ENSEMBLES_[A-Z_]*[A-Z](?![A-Z_])")
_SOURCES = (
    "python_transforms/*.py",
    "expansion_service/*.py",
    "go_examples/ensemble/*.go",
    ":!*_test.go",
    "java_examples/client/src/main/*.java",
)


def in_sources() -> set[str]:
    command = ["git", "grep", "-hE", "BEAM_ENSEMBLES_", "--", *_SOURCES]
    return set(
        _NAME.findall(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
    )


def in_table() -> list[str]:
    rows = re.findall(r"^\| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_the_table_has_the_variables_that_the_code_reads() -> None:
    assert len(in_sources()) > 10
    assert {name for name in in_table() if name.startswith("BEAM_ENSEMBLES_")} == in_sources()


def test_each_variable_is_described_once() -> None:
    assert sorted(set(in_table())) == sorted(in_table())
