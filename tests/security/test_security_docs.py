"""docs/deploy/security.md and SECURITY.md name only tests and flags that there are."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from beam_ensembles_service import settings
from beam_ensembles_service.workers import command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/deploy/security.md").read_text(encoding="utf-8")
PAGES = PAGE + (ROOT / "SECURITY.md").read_text(encoding="utf-8")
SOURCES = "\n".join(
    path.read_text(encoding="utf-8")
    for pattern in ("tests/**/*.py", "go_examples/**/*_test.go", "java_examples/**/*Test.java")
    for path in sorted(ROOT.glob(pattern))
)
OF_CLIENTS = {"--tls-ca", "--tls-cert", "--tls-key", "--token-file"}
OF_OTHERS = {"--build-arg", "--json", "--network", "--trust-remote-code"}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:tests/[\w/]+/)?test_\w+\.py)", PAGE))))
def test_the_modules_that_are_named_are_there(name: str) -> None:
    assert (ROOT / (name if "/" in name else f"tests/security/{name}")).is_file()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\b(test_\w+)\b(?!\.py)", PAGE))))
def test_the_tests_that_are_named_are_there(name: str) -> None:
    assert f"def {name}(" in SOURCES


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(Test[A-Z]\w+|[A-Z]\w+Test)`", PAGE))))
def test_the_tests_of_other_languages_that_are_named_are_there(name: str) -> None:
    assert f"func {name}(" in SOURCES or f"class {name} " in SOURCES


@pytest.mark.parametrize("flag", sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGES)) - OF_OTHERS))
def test_the_flags_that_are_named_are_there(flag: str) -> None:
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    settings.add_arguments(parser)
    command.add_arguments(parser)
    assert flag in parser.format_help() or flag in OF_CLIENTS
