"""Every exported function of the Go client has an example, which ``go test`` runs and pkg.go.dev shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.layout import GO_MODULE

EXPORTED = re.compile(r"^func ([A-Z]\w*)", re.MULTILINE)
EXAMPLE = re.compile(r"^func Example([A-Z]\w*?)(?:_\w+)?\(\)", re.MULTILINE)
PACKAGES = sorted(
    {file.parent for file in GO_MODULE.rglob("*.go") if "internal" not in file.relative_to(GO_MODULE).parts}
)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_exported_function_has_an_example(package: Path) -> None:
    texts = {file.name: file.read_text(encoding="utf-8") for file in package.glob("*.go")}
    functions = {
        name
        for file, text in texts.items()
        if not file.endswith("_test.go")
        for name in EXPORTED.findall(text)
    }
    examples = {name for text in texts.values() for name in EXAMPLE.findall(text)}
    assert functions - examples == set()
    assert functions
