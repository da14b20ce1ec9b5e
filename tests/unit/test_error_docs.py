"""Every code that the sources use is explained in ``docs/reference/errors.md``, and nothing else is."""

from __future__ import annotations

import ast
import functools
import json
import pathlib
import re
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = [
    *(ROOT / "python_transforms" / "beam_ensembles").rglob("*.py"),
    *(ROOT / "expansion_service" / "beam_ensembles_service").rglob("*.py"),
]
CODE_ARGUMENT = {
    "Problem": 1, "add": 1, "settle": 1, "problem": 0, "FileProblem": 0, "NodeError": 0, "_Unreadable": 0,
    "BatchFailed": 0, "RowFailed": 2, "ExpressionError": 0, "report": 0, "_NoAnswer": 0, "UnusableKind": 0,
}  # fmt: skip
"""Which argument of a call is a code, by the name of what is called."""


def codes_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            at = CODE_ARGUMENT.get(name)
            if at is not None and len(node.args) > at + 1:
                words = (part.value for part in ast.walk(node.args[at]) if isinstance(part, ast.Constant))
                yield from (word for word in words if isinstance(word, str))


@functools.cache
def used() -> frozenset[str]:
    return frozenset(
        code for path in SOURCES for code in codes_in(ast.parse(path.read_text(encoding="utf-8")))
    )


def sections() -> dict[str, str]:
    """Returns what the docs say of each code, in their order."""
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    parts = re.split(r"^#{2,3} (.*)$", text, flags=re.MULTILINE)[1:]
    return {title.strip("`"): body for title, body in zip(parts[::2], parts[1::2], strict=True)}


def test_every_code_is_explained_and_nothing_else_is() -> None:
    documented = [title for title in sections() if re.fullmatch(r"[a-z0-9_]+", title)]
    assert sorted(documented) == sorted(used()), (
        "docs/reference/errors.md and the codes in the sources differ"
    )


def test_the_collector_sees_codes_of_every_kind() -> None:
    assert {"syntax", "cycle", "missing_file", "bad_weights", "signature_mismatch", "field_type"} <= used()


@pytest.mark.parametrize("code", sorted(used()))
def test_every_code_says_what_to_do(code: str) -> None:
    assert re.fullmatch(r"\s*\*Cause\.\* \S.*\*What to do\.\* \S.*", sections()[code], re.DOTALL)


def test_every_mistake_of_a_file_has_a_golden_case() -> None:
    titles = list(sections())
    of_files = {
        title for title in titles[: titles.index("The call and the incoming rows")] if title in used()
    }
    cases = (ROOT / "tests" / "golden" / "specs_invalid").glob("*.expected.json")
    pinned = {problem["code"] for case in cases for problem in json.loads(case.read_text())["problems"]}
    # These depend on how the text is given, on where the workers are and on what is installed (test_plugins.py).
    assert of_files - pinned - {"untrusted_code"} == {
        "broken_plugin",
        "duplicate_kind",
        "relative_uri_without_base",
        "local_uri_on_remote_worker",
    }
