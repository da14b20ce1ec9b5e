"""Runs the code of the README as written: the models, the ensemble file, and the pipelines of all languages."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from scripts.servers import PRISM_VARIABLE
from tests.support import pages
from tests.support.commands import needed, run

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
ANSWERS = [(1, "setosa"), (2, "virginica")]
BLOCK = re.compile(r"^```\w+\n(?:#|//) (\S+\.\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> dict[str, str]:
    """Returns the code blocks of the README whose first line names a file."""
    return dict(BLOCK.findall((ROOT / "README.md").read_text()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the README's files in it, its models trained."""
    made = tmp_path_factory.mktemp("flowers")
    for name, text in blocks().items():
        (made / name).write_text(text)
    run(sys.executable, "train.py", folder=made)
    return made


@pytest.fixture
def endpoint() -> str:
    """The job service of the Prism that the suite was started with."""
    if PRISM_VARIABLE not in os.environ:
        pytest.skip(f"{PRISM_VARIABLE} names no Prism; 'make test-integration' starts one")
    return os.environ[PRISM_VARIABLE]


def test_it_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


def test_the_file_is_right(folder: Path) -> None:
    said = run(sys.executable, "-m", "beam_ensembles.cli.main", "validate", "flowers.yaml", folder=folder)
    assert said.startswith("OK flowers.yaml")


def test_python(folder: Path) -> None:
    lines = run(sys.executable, "pipeline.py", folder=folder).splitlines()
    assert sorted((int(line.split()[0]), line.split()[1]) for line in lines) == ANSWERS


def test_the_command_line_scores_a_file(folder: Path) -> None:
    rows = [{"id": 1, "petals": [5.1, 3.5, 1.4, 0.2]}, {"id": 2, "petals": [6.3, 3.3, 6.0, 2.5]}]
    (folder / "flowers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    files = ("--input", "flowers.jsonl", "--output", "run.jsonl")
    run(sys.executable, "-m", "beam_ensembles.cli.main", "run", "flowers.yaml", *files, folder=folder)
    assert answers(folder / "run.jsonl") == ANSWERS


def test_the_commands_of_the_page_run(folder: Path) -> None:
    (block,) = [one for one in pages.blocks("reference/command-line.md") if one.run_by is None]
    run("bash", "-euc", block.text, folder=folder)
    assert answers(folder / "scored.jsonl") == ANSWERS[:1]
    (folder / "scored.jsonl").unlink()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("notebook.py", r"first\s+setosa"),
        ("split.py", "setosa 2 wrong_length"),
        ("from_sklearn.py", r"<Ensemble voted: features: .*label: int64.*\n0 0"),
        ("explain.py", r"\[answered, [\d.]+ ms\](.*\n)+setosa \['answered'"),
    ],
)
def test_the_page_on_dataframes(name: str, said: str, folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "dataframes.md").read_text(encoding="utf-8")
    (folder / name).write_text(dict(BLOCK.findall(page))[name])
    assert re.search(said, run(sys.executable, name, folder=folder))


def test_the_page_on_watching_inputs(folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "watch-inputs.md").read_text(encoding="utf-8")
    (folder / "flowers.py").write_text(dict(BLOCK.findall(page))["flowers.py"])
    run(sys.executable, "flowers.py", folder=folder)
    learn, watch = pages.blocks("how-to/watch-inputs.md")
    run("bash", "-euc", learn.text, folder=folder)
    plain = (folder / "flowers.yaml").read_text(encoding="utf-8")
    (line,) = re.findall(r"^profile: .*\n", page, re.MULTILINE)
    (folder / "flowers.yaml").write_text(plain.replace("nodes:\n", f"{line}nodes:\n"), encoding="utf-8")
    try:
        said = run("bash", "-euc", watch.text, folder=folder)
    finally:
        (folder / "flowers.yaml").write_text(plain, encoding="utf-8")
    (warning,) = [found for found in said.splitlines() if found.startswith("WARNING ")]
    assert f"\n{warning}\n" in page
    assert re.search(r"^petals +2000 +0 +\d+ +0 +4 +2 ", said, re.MULTILINE)


def test_go(folder: Path, endpoint: str, tmp_path: Path) -> None:
    go = needed("go")
    library = ROOT / "go_examples" / "ensemble"
    module = (library / "go.mod").read_text()
    path = re.search(r"^module (\S+)$", module, re.MULTILINE)
    assert path
    (tmp_path / "go.mod").write_text(
        re.sub(r"^module \S+$", "module flowers", module, flags=re.MULTILINE)
        + f"\nrequire {path[1]} v0.0.0\n\nreplace {path[1]} => {library}\n"
    )
    shutil.copy(library / "go.sum", tmp_path)
    (tmp_path / "main.go").write_text((HERE / "main.go.template").read_text() + blocks()["flowers.go"])
    run(go, "build", "-mod=mod", "-o", "flowers", ".", folder=tmp_path)
    flags = ("--runner=universal", f"--endpoint={endpoint}", "--environment_type=LOOPBACK")
    run(tmp_path / "flowers", f"--output={tmp_path / 'scored.jsonl'}", *flags, folder=folder)
    assert answers(tmp_path / "scored.jsonl") == ANSWERS


def test_java(folder: Path, endpoint: str) -> None:
    java = needed("java")
    (jar,) = (ROOT / "java_examples" / "digits" / "target").glob("digits.jar")
    (folder / "scored.jsonl").unlink(missing_ok=True)
    body = blocks()["Flowers.java"].replace("\n", "\n      ")
    (folder / "Flowers.java").write_text(
        (HERE / "Flowers.java.template").read_text().replace("// README", body)
    )
    options = ("--runner=PortableRunner", f"--jobEndpoint={endpoint}")
    run(java, "-cp", class_path(jar), "Flowers.java", *options, folder=folder)
    assert answers(folder / "scored.jsonl") == ANSWERS


def class_path(jar: Path) -> str:
    """Returns the jar of the digits example and the folder of what it needs."""
    return os.pathsep.join([str(jar), str(jar.parent / "lib" / "*")])


def answers(file: Path) -> list[tuple[int, str]]:
    """Returns the id and the answer of each line of a file of JSON lines."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return sorted((row["id"], row["species"]) for row in rows)
