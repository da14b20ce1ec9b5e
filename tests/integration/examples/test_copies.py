"""Who copies the files that an example's README names has a project that builds, in an empty folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.example import Example
from scripts.examples.table import EXAMPLES
from scripts.layout import GO_MODULE, MAVEN_PROJECT, ROOT

_ROW = re.compile(r"^\| (Python|Go|Java|Beam YAML) \| (.*) \|$", re.MULTILINE)
_FILE = re.compile(r"`([\w./-]+)`")
_GROUP = ("io", "github", "beamensembles")
_MODULE = "github.com/beam-ensembles/beam-ensembles/go_examples"


def named(example: Example, language: str) -> list[Path]:
    """Gives the files that the README of an example names for a language."""
    text = (example.folder / "README.md").read_text(encoding="utf-8").partition("## A project of your own")[2]
    return [ROOT / name for name in _FILE.findall(dict(_ROW.findall(text))[language])]


def copied(files: Sequence[Path], folder: Path) -> Path:
    """Copies files into an empty folder, without the folders that they are in."""
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder)
    return folder


def run(*command: object, folder: Path) -> str:
    """Runs a command; gives what it says, and shows it where it fails."""
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def link_but(left_out: Sequence[str], folder: Path, own: Path) -> None:
    """Makes a folder with what is in another one, but for a folder below it: that one is its own."""
    own.mkdir()
    for path in folder.iterdir() if folder.exists() else ():
        if path.name != left_out[0]:
            (own / path.name).symlink_to(path)
        elif len(left_out) > 1:
            link_but(left_out[1:], path, own / path.name)


def needed(program: str) -> str:
    """Gives the path of a program, or skips the test."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"there is no {program} here")
    return path


FOLDERS = list({example.folder: example for example in EXAMPLES}.values())
each_example = pytest.mark.parametrize("example", FOLDERS, ids=lambda example: example.folder.name)


@each_example
def test_python(example: Example, tmp_path: Path) -> None:
    folder = copied(named(example, "Python"), tmp_path / "copy")
    for file in sorted(folder.glob("*.py")):
        if file.name not in ("summary.py",):
            run(sys.executable, file, "--help", folder=folder)
    assert list(folder.glob("*.yaml"))


@each_example
def test_beam_yaml(example: Example, tmp_path: Path) -> None:
    folder = copied(named(example, "Beam YAML"), tmp_path / "copy")
    assert {"pipeline.yaml", "provider.yaml", "train.py"} <= {file.name for file in folder.iterdir()}


def test_go(tmp_path: Path) -> None:
    """All at once, each in a package of its own: most of the time is Go's own."""
    go = needed("go")
    for example in FOLDERS:
        files = [file for file in named(example, "Go") if file.suffix == ".go"]
        for file in files:
            copied([file], tmp_path / file.parent.name)
    text = (GO_MODULE / "go.mod").read_text(encoding="utf-8")
    text = re.sub(r"^module \S+$", "module example.com/mine", text, flags=re.MULTILINE)
    text = re.sub(r"^tool \((.|\n)*?^\)$|^tool .*$", "", text, flags=re.MULTILINE)
    text += f"\nrequire {_MODULE} v0.0.0\n\nreplace {_MODULE} => {GO_MODULE}\n"
    (tmp_path / "go.mod").write_text(text, encoding="utf-8")
    shutil.copy(GO_MODULE / "go.sum", tmp_path)
    run(go, "vet", "-mod=mod", "./...", folder=tmp_path)


def test_java(tmp_path: Path) -> None:
    """All at once: a Maven project of its own, whose only own library is the client."""
    maven = needed("mvn")
    sources = tmp_path / "project" / "src" / "main" / "java"
    for example in FOLDERS:
        files = named(example, "Java")
        copied([file for file in files if file.suffix == ".java"], sources / example.folder.name)
        (pom,) = [file for file in files if file.name == "pom.xml"]
        shutil.copy(pom, tmp_path / "project")
    repository = tmp_path / "repository"
    link_but(_GROUP, Path.home() / ".m2" / "repository", repository)
    flags = ("--batch-mode", "--no-transfer-progress", "--quiet", f"-Dmaven.repo.local={repository}")
    install = ("--projects=client", "--also-make", "-DskipTests", "-Dfmt.skip", "install")
    run(maven, *flags, *install, folder=MAVEN_PROJECT)
    run(maven, *flags, "package", folder=tmp_path / "project")
    assert (tmp_path / "project" / "target" / "program.jar").exists()
