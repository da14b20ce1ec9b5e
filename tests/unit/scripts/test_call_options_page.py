"""The page on the options of a call names only what each language has."""

from __future__ import annotations

import dataclasses
import inspect
import re

from beam_ensembles import RunEnsemble
from beam_ensembles.transforms.config import RunEnsembleConfig
from scripts.layout import GO_MODULE, MAVEN_PROJECT, ROOT

PAGE = (ROOT / "docs" / "how-to" / "call-options.md").read_text(encoding="utf-8")
ROWS = [row.split(" | ") for row in re.findall(r"^\| (.+) \|$", PAGE, re.MULTILINE)][2:]
PYTHON, GO, JAVA, YAML = range(1, 5)


def named(column: int, pattern: str) -> set[str]:
    """Returns what the cells of a column name."""
    return set(re.findall(pattern, "\n".join(row[column] for row in ROWS if len(row) > column)))


def test_python() -> None:
    found = named(PYTHON, r"`(\w+)=")
    assert len(found) > 4
    assert found <= set(inspect.signature(RunEnsemble.__init__).parameters)
    assert all(hasattr(RunEnsemble, name) for name in named(PYTHON, r"`\.(\w+)\("))


def test_go() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in GO_MODULE.glob("*.go"))
    found = named(GO, r"`((?:With|Run)\w+)")
    assert len(found) > 5
    assert {name for name in found if not re.search(rf"^func {name}[\[(]", sources, re.MULTILINE)} == set()


def test_java() -> None:
    (source,) = MAVEN_PROJECT.glob("client/src/main/java/**/RunEnsemble.java")
    found = named(JAVA, r"`\.(\w+)")
    assert len(found) > 6
    text = source.read_text(encoding="utf-8")
    assert {name for name in found if not re.search(rf"^  public .*\b{name}\(", text, re.MULTILINE)} == set()


def test_beam_yaml() -> None:
    found = named(YAML, r"`(\w+): ")
    assert len(found) > 5
    assert found <= {field.name for field in dataclasses.fields(RunEnsembleConfig)}
