"""Code that ``beam-ensembles generate`` writes builds and runs in every language: that of the page on generated types
as written, and that of an ensemble with every type."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from scripts.layout import GO_MODULE, MAVEN_PROJECT, ROOT
from tests.support.commands import needed, run
from tests.support.pages import blocks, named_files, named_files_of, path_of

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "generated"
PAGE = "how-to/generated-types.md"
ARGUMENTS = re.compile(r"<commandlineArgs>(.*)</commandlineArgs>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the README's ensemble, the one with every type, and the code that the page's commands write."""
    made = tmp_path_factory.mktemp("generated")
    readme = named_files_of(ROOT / "README.md")
    for name in ("train.py", "flowers.yaml"):
        (made / name).write_text(readme[name], encoding="utf-8")
    run(sys.executable, "train.py", folder=made)
    for block in blocks(PAGE):
        run("bash", "-euo", "pipefail", "-c", block.text, folder=made)
    shutil.copy(PROGRAMS / "every.yaml", made)
    every = "beam-ensembles generate {} every.yaml -o {} --field id=int64"
    for language, output in (("go", "everytype"), ("java", "src/main/java"), ("python", ".")):
        run("bash", "-c", every.format(language, output), folder=made)
    return made


def expected() -> list[dict[str, object]]:
    """Returns what each program says of the rows of the ensemble with every type."""
    return [json.loads(line) for line in (PROGRAMS / "every.jsonl").read_text().splitlines()]


def said(text: str) -> list[dict[str, object]]:
    """Returns the lines of JSON that a program wrote, by their ids."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return sorted(found, key=lambda row: row["id"])


def test_the_maven_plugin_runs_the_pages_command(folder: Path) -> None:
    found = ARGUMENTS.search(path_of(PAGE).read_text(encoding="utf-8"))
    assert found
    assert f"beam-ensembles {found[1]}" in blocks(PAGE)[0].text
    run("beam-ensembles", *shlex.split(found[1]), "--check", folder=folder)


def test_python(folder: Path) -> None:
    (folder / "score.py").write_text(named_files(PAGE)["score.py"], encoding="utf-8")
    assert run(sys.executable, "score.py", folder=folder).split()[:2] == ["1", "setosa"]
    shutil.copy(PROGRAMS / "every.py", folder)
    assert said(run(sys.executable, "every.py", folder=folder)) == expected()


def test_go(folder: Path, prism: str) -> None:
    go = needed("go")
    module = (GO_MODULE / "go.mod").read_text()
    path = re.search(r"^module (\S+)$", module, re.MULTILINE)
    assert path
    (folder / "go.mod").write_text(
        re.sub(r"^module \S+$", "module flowers", module, flags=re.MULTILINE)
        + f"\nrequire {path[1]} v0.0.0\n\nreplace {path[1]} => {GO_MODULE}\n"
    )
    shutil.copy(GO_MODULE / "go.sum", folder)
    shutil.copy(PROGRAMS / "main.go.template", folder / "main.go")
    head = f'package main\n\nimport (\n\t"github.com/apache/beam/sdks/v2/go/pkg/beam"\n\n\t"{path[1]}"\n)\n\n'
    (folder / "score.go").write_text(head + named_files(PAGE)["score.go"])
    made = folder / "flowers_rows.go"
    before = made.read_text(encoding="utf-8")
    made.unlink()
    run(go, "generate", "-mod=mod", "./...", folder=folder)
    assert made.read_text(encoding="utf-8") == before
    assert run(Path(go).resolve().parent / "gofmt", "-l", ".", folder=folder) == ""
    run(go, "vet", "-mod=mod", "./...", folder=folder)
    run(go, "build", "-mod=mod", "-o", "scoring", ".", folder=folder)
    flags = ("--runner=universal", f"--endpoint={prism}", "--environment_type=LOOPBACK")
    run(folder / "scoring", f"--output={folder / 'go.jsonl'}", *flags, folder=folder)
    assert said((folder / "go.jsonl").read_text()) == expected()
    assert (folder / "go.jsonl.flowers").read_text() == "1 setosa\n"


def test_java(folder: Path, prism: str) -> None:
    javac, java = needed("javac"), needed("java")
    (jar,) = (MAVEN_PROJECT / "digits" / "target").glob("digits.jar")
    sources = folder / "src" / "main" / "java"
    body = named_files(PAGE)["Score.java"].replace("\n", "\n      ")
    program = (PROGRAMS / "Every.java.template").read_text().replace("// PAGE", body)
    (sources / "Every.java").write_text(program, encoding="utf-8")
    classes = os.pathsep.join(["classes", str(jar), str(jar.parent / "lib" / "*")])
    flags = (
        "-Xlint:all,-classfile,-path,-processing,-serial,-try",
        "-Werror",
        "-encoding",
        "UTF-8",
        "-d",
        "classes",
    )
    run(javac, *flags, "-cp", classes, *sources.rglob("*.java"), folder=folder)
    options = ("--runner=PortableRunner", f"--jobEndpoint={prism}")
    run(java, "-cp", classes, "Every", "java.jsonl", *options, folder=folder)
    assert said((folder / "java.jsonl").read_text()) == expected()
    assert (folder / "java.jsonl.flowers").read_text() == "1 setosa\n"
