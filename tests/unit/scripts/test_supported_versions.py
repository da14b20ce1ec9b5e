"""The table of versions is that of the files that pin them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from scripts import supported_versions
from scripts.toolchains import python


def rows() -> dict[str, list[str]]:
    """Returns the table's cells by the first one."""
    lines = [line.strip("| ").split(" | ") for line in supported_versions.table().splitlines()]
    return {cells[0]: cells[1:] for cells in lines}


def test_the_page_is_up_to_date() -> None:
    assert supported_versions.PAGE.read_text(encoding="utf-8") == supported_versions.page(), "run: make docs"


def test_the_versions_of_python_are_those_that_setup_takes() -> None:
    oldest, newest = (".".join(map(str, version)) for version in (python.OLDEST, python.NEWEST))
    assert rows()["Python"][0] == f"`>={oldest},<3.{python.NEWEST[1] + 1}`"
    project = (supported_versions.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    classifiers = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert (classifiers[0], classifiers[-1]) == (oldest, newest)


@pytest.mark.skipif(sys.version_info[:2] != python.OLDEST, reason="newer Pythons have some newer packages")
def test_what_is_tested_is_what_is_installed() -> None:
    listed = subprocess.run(
        [python.UV, "pip", "list", "--python", python.PYTHON, "--format", "freeze"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    installed = dict(line.split("==") for line in listed.splitlines() if "==" in line)
    for name, cells in rows().items():
        package = name.partition("[")[0]
        if package in installed:
            assert installed[package].partition("+")[0] == cells[1], package
    assert installed["apache-beam"] == rows()["Beam for Python"][1]
