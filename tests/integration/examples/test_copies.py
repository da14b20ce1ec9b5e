"""Who copies the files that an example's README names has a project that builds, in an empty folder, and that runs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import beam_ensembles
from scripts import answers
from scripts.answers import Answer
from scripts.environments import locked_environment
from scripts.example import Example
from scripts.examples.table import EXAMPLES
from scripts.layout import GO_EXAMPLES, GO_MODULE, MAVEN_PROJECT, ROOT
from scripts.toolchains import java
from tests.support.commands import needed, run
from tests.support.service import running_service

_ROW = re.compile(r"^\| (Python|Go|Java|Beam YAML) \| (.*) \|$", re.MULTILINE)
_FILE = re.compile(r"`([\w./-]+)`")
_GROUP = ("io", "github", "beamensembles")
_MODULE = "github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
_BLOCK = re.compile(r"^  ```sh\n(.*?)^  ```$", re.MULTILINE | re.DOTALL)
_PRISM, _SERVICE = "localhost:8073", "localhost:8097"
"""Where the READMEs have them."""
_HELP = """
import runpy, sys
for file in sys.argv[1:]:
    sys.argv = [file, "--help"]
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
"""
"""Asks programs for their help, in one process: they share what takes long to import."""
_RELATIVE = re.compile(r"""": "(?!'"\$PWD"')([^"]*\.yaml)""")
"""An ensemble in the variables of a Beam YAML pipeline, without the folder in which the shell is."""


def named(example: Example, language: str) -> list[Path]:
    """Returns the files that the README of an example names for a language."""
    text = (example.folder / "README.md").read_text(encoding="utf-8").partition("## A project of your own")[2]
    return [ROOT / name for name in _FILE.findall(dict(_ROW.findall(text))[language])]


def copied(files: Sequence[Path], folder: Path) -> Path:
    """Copies files into an empty folder, without the folders that they are in."""
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder)
    return folder


def said(language: str) -> str:
    """Returns the commands that the examples' page says for a language, for a project of one's own."""
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    found = _BLOCK.search(page.partition(f"- **{language}**")[2])
    assert found
    return found[1]


def link_but(left_out: Sequence[str], folder: Path, own: Path) -> None:
    """Creates a folder with the contents of another one, except a folder below it: that one is its own."""
    own.mkdir()
    for path in folder.iterdir() if folder.exists() else ():
        if path.name != left_out[0]:
            (own / path.name).symlink_to(path)
        elif len(left_out) > 1:
            link_but(left_out[1:], path, own / path.name)


FOLDERS = list({example.folder: example for example in EXAMPLES}.values())
(AB_TEST,) = (example for example in EXAMPLES if example.name == "ab_test")
each_example = pytest.mark.parametrize("example", FOLDERS, ids=lambda example: example.folder.name)


@each_example
def test_python(example: Example, tmp_path: Path) -> None:
    folder = copied(named(example, "Python"), tmp_path / "copy")
    programs = [file.name for file in sorted(folder.glob("*.py")) if file.name != "summary.py"]
    run(sys.executable, "-c", _HELP, *programs, folder=folder)
    assert list(folder.glob("*.yaml"))


@each_example
def test_beam_yaml(example: Example, tmp_path: Path) -> None:
    folder = copied(named(example, "Beam YAML"), tmp_path / "copy")
    assert {"pipeline.yaml", "provider.yaml", "train.py"} <= {file.name for file in folder.iterdir()}


@pytest.fixture(scope="module")
def go_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Go module with the copies of all examples, each in a package of its own: most of the time is Go's own."""
    module = tmp_path_factory.mktemp("go")
    for example in FOLDERS:
        for file in named(example, "Go"):
            if file.suffix == ".go":
                copied([file], module / file.parent.name)
    text = (GO_EXAMPLES / "go.mod").read_text(encoding="utf-8")
    text = re.sub(r"^module \S+$", "module example.com/mine", text, flags=re.MULTILINE)
    text = re.sub(r"^tool \((.|\n)*?^\)$|^tool .*$", "", text, flags=re.MULTILINE)
    own = f"replace {_MODULE} => ./ensemble"
    assert own in text
    text = text.replace(own, f"replace {_MODULE} => {GO_MODULE}")
    (module / "go.mod").write_text(text, encoding="utf-8")
    shutil.copy(GO_EXAMPLES / "go.sum", module)
    return module


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Maven's own folder of libraries, but with the client that was built from this checkout, as Maven installs it."""
    needed("mvn")
    folder = tmp_path_factory.mktemp("maven") / "repository"
    link_but(_GROUP, Path.home() / ".m2" / "repository", folder)
    artifact, built = f"beam-ensembles-{beam_ensembles.__version__}", MAVEN_PROJECT / "client" / "target"
    place = folder.joinpath(*_GROUP, "beam-ensembles", beam_ensembles.__version__)
    place.mkdir(parents=True)
    shutil.copy(built / f"{artifact}.jar", place)
    shutil.copy(built / "flattened-pom.xml", place / f"{artifact}.pom")
    return folder


def test_go(go_project: Path) -> None:
    run(needed("go"), "vet", "-mod=mod", "./...", folder=go_project)


def test_java(repository: Path, tmp_path: Path) -> None:
    """All at once: a Maven project of its own, whose only own library is the client."""
    sources = tmp_path / "project" / "src" / "main" / "java"
    for example in FOLDERS:
        files = named(example, "Java")
        copied([file for file in files if file.suffix == ".java"], sources / example.folder.name)
        (pom,) = [file for file in files if file.name == "pom.xml"]
        shutil.copy(pom, tmp_path / "project")
    flags = ("-q", "-Pio", f"-Dmaven.repo.local={repository}")
    run(needed("mvn"), *flags, "compile", folder=tmp_path / "project")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy of one example for Python, with its models and rows, and what its pipeline says of them."""
    folder = copied(named(AB_TEST, "Python"), tmp_path_factory.mktemp("trained") / "copy")
    run(sys.executable, "train.py", "--models", "models", "--rows", "rows.jsonl", folder=folder)
    run(sys.executable, "pipeline.py", "--input", "rows.jsonl", "--output", "scored.jsonl", folder=folder)
    return folder


def place(trained: Path, files: Sequence[Path], folder: Path) -> Path:
    """Copies files into a folder, with the models and rows that their ``train.py`` makes there too."""
    folder.mkdir(exist_ok=True)
    for file in (*files, trained / "rows.jsonl", trained / "rows.parquet"):
        shutil.copy(file, folder)
    shutil.copytree(trained / "models", folder / "models")
    return folder


def assert_same(found: Sequence[Answer], trained: Path, language: str) -> None:
    """Asserts that a language answered what Python did."""
    expected = answers.read(trained / "scored.jsonl")
    assert answers.incomplete(language, found, expected) == []
    assert answers.differences("Python", expected, language, found) == []


def test_the_python_copy_runs(trained: Path) -> None:
    assert len(answers.read(trained / "scored.jsonl")) == AB_TEST.scored
    assert "challenger - champion" in run(sys.executable, "summary.py", "scored.jsonl", folder=trained)


def test_the_go_copy_runs(go_project: Path, trained: Path) -> None:
    """With its own service, on the Prism in Beam's Go SDK."""
    needed("go")
    files = [file for file in named(AB_TEST, "Go") if file.suffix != ".go"]
    folder = place(trained, files, go_project / "ab_test")
    *_, command = said("Go").splitlines()
    run("bash", "-c", command, folder=folder, GOFLAGS="-mod=mod")
    assert_same(answers.read(folder / "scored.jsonl"), trained, "Go")


def test_the_java_copy_runs(repository: Path, trained: Path, tmp_path: Path, prism: str) -> None:
    """With its own service."""
    folder = place(trained, named(AB_TEST, "Java"), tmp_path / "copy")
    commands = said("Java").replace(_PRISM, prism)
    options = " ".join([f"-Dmaven.repo.local={repository}", *java.SHORT_LIVED])
    run("bash", "-ec", commands, folder=folder, MAVEN_OPTS=options)
    assert_same(answers.read(folder / "scored.jsonl"), trained, "Java")


def test_the_beam_yaml_copy_runs(trained: Path, tmp_path: Path, prism: str) -> None:
    folder = place(trained, named(AB_TEST, "Beam YAML"), tmp_path / "copy")
    beam = locked_environment("beam_yaml") / "bin"
    serve, _, commands = said("Beam YAML").partition("\n")
    flags = serve.partition("serve ")[2].removesuffix(" &").replace(" .", f" {folder}").split()
    with running_service(*flags) as service:
        edit(folder / "pipeline.yaml", "'examples/provider.yaml'", "'provider.yaml'")
        edit(folder / "provider.yaml", _SERVICE, service.address)
        path = f"{beam}{os.pathsep}{os.environ['PATH']}"
        run("bash", "-ec", commands.replace(_PRISM, prism), folder=folder, PATH=path)
    rows = [row for part in folder.glob("scored.parquet-*") for row in pq.read_table(part).to_pylist()]
    assert_same(sorted(rows, key=lambda row: row["id"]), trained, "Beam YAML")


def edit(file: Path, old: str, new: str) -> None:
    """Puts a text in the place of another one, which must be there."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@each_example
def test_beam_yaml_gets_whole_paths_of_ensembles(example: Example) -> None:
    """A service knows no folder that they could be relative to."""
    text = (example.folder / "README.md").read_text(encoding="utf-8")
    variables = re.findall(r"--jinja_variables='.*?}'", text, re.DOTALL)
    assert variables
    relative = [path for found in variables for path in _RELATIVE.findall(found)]
    assert relative == []
