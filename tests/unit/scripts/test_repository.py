"""What hosting services and newcomers read: right by its schema, and true of the repository."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from scripts.layout import ROOT
from scripts.upcoming import requirements

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "CODE_OF_CONDUCT.md")]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("dependabot", [GITHUB / "dependabot.yml"]),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("citation-file-format", [ROOT / "CITATION.cff"]),
    ],
)
def test_files_are_what_their_schema_asks_for(schema: str, files: list[Path]) -> None:
    assert files
    command = [
        Path(sys.executable).parent / "check-jsonschema",
        "--builtin-schema",
        f"vendor.{schema}",
        *files,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_there_is(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        assert command == "bash .ci/run" or command.split()[1] in TARGETS, command


def test_dependabot_looks_where_dependencies_are() -> None:
    named = {"gomod": "go.mod", "maven": "pom.xml", "docker": "Dockerfile"}
    for update in yaml.safe_load((GITHUB / "dependabot.yml").read_text(encoding="utf-8"))["updates"]:
        for folder in update.get("directories", [update.get("directory")]):
            place = ROOT / folder.strip("/")
            assert place.is_dir()
            if update["package-ecosystem"] in named:
                assert (place / named[update["package-ecosystem"]]).is_file()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_name_what_there_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert {name for name in re.findall(r"\bmake ([a-z][a-z-]+)\b", text) if name not in TARGETS} == set()
    for name in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"pytest (\S+\.py)", text):
        assert (ROOT / name).is_file(), name


def test_the_citation_has_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (
        yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == project["version"]
    )


def test_what_is_coming_has_no_limits_but_those_of_faults() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = requirements(project)
    assert "apache-beam>=2.77rc0" in found
    assert "transformers" in found
    assert "pandas>=2.2,<3" in found
    assert not any(one.startswith("beam-ensembles") for one in found)
    assert set(project["optional-dependencies"]["dev"]) <= set(found)
