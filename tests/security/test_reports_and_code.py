"""Texts of files, fields and rows in what people open or compile: reports, pictures and generated code."""

from __future__ import annotations

import ast
import csv
import html.parser
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from beam_ensembles import Ensemble
from beam_ensembles.cli.main import main

_HOSTILE: Final = (
    '<script>alert(1)</script><img src=x onerror=alert(1)> "\'&`*/ \\u002a/ \\u000a $x %s {0} """ \x1b[2J --> ]]> //'
    "\u2028\n\ngo:build ignore"
)
_FILE: Final = "e'\"`*{0} \\u000a --><b>.yaml"


class _Tags(html.parser.HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def _check(page: str) -> None:
    found = _Tags()
    found.feed(page)
    assert "title" in found.tags
    assert not found.tags & {"script", "img", "b", "iframe", "object", "a"}
    assert not [name for name in found.attributes if name.startswith("on") or name in ("href", "src")]


def _ensemble(folder: Path, description: str, name: str = "e.yaml") -> Path:
    path = folder / name
    choice = "CASE WHEN t = '<img src=x onerror=alert(1)>' THEN '<b>' ELSE t END"
    nodes = {
        "middle": {"combine": "mean", "inputs": ["a", "b"], "outputs": {"m": "double"}},
        "words": {"apply": "sql", "select": {"w": choice}},
    }
    document = {
        "ensemble": "e",
        "description": description,
        "inputs": {"a": "double", "b": "double", "t": "string"},
    }
    path.write_text(json.dumps({**document, "nodes": nodes}))
    return path


def test_a_report_shows_names_and_values_as_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, rows, page = _ensemble(tmp_path, _HOSTILE), tmp_path / "rows.csv", tmp_path / "page.html"
    field = 'by<img src=x onerror=alert(1)>"'
    with rows.open("w", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(["a", "b", "t", "label", field])
        writer.writerows([at, at + 1, _HOSTILE, at, f"{_HOSTILE}{at % 2}"] for at in range(40))
    given = [
        "--input",
        str(rows),
        "--label",
        "label",
        "--task",
        "numbers",
        "--by",
        field,
        "--report",
        str(page),
    ]
    assert main(["evaluate", str(file), *given]) == 0, capsys.readouterr().err
    assert "&lt;img src=x" in page.read_text()
    _check(page.read_text())


def test_a_notebook_shows_names_and_values_as_texts(tmp_path: Path) -> None:
    ensemble: Any = Ensemble(str(_ensemble(tmp_path, _HOSTILE)))
    _check(ensemble._repr_html_())
    explained = ensemble.explain({"a": 1.0, "b": 2.0, "t": _HOSTILE})
    _check(explained._repr_html_())
    _check(explained.to_svg())


def _code(text: str, language: str) -> str:
    """Returns generated code without its comments, of which texts of others may be a part."""
    if language == "python":
        tree = ast.parse(text)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                del body[0]
        return ast.dump(tree)
    if language == "java":
        assert "\\" not in text  # javac reads \u anywhere, also in comments
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    assert "/*" not in text
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith("//"))


@pytest.mark.parametrize("language", ["go", "java", "python"])
def test_generated_code_has_texts_in_comments_only(
    language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = []
    for at, (description, name) in enumerate([("plain", "e.yaml"), (_HOSTILE, _FILE)]):
        file = _ensemble(tmp_path, description, name)
        assert main(["generate", language, str(file), "-o", str(tmp_path / str(at))]) == 0, (
            capsys.readouterr().err
        )
        (path,) = (one for one in (tmp_path / str(at)).rglob("*") if one.is_file())
        made.append(_code(path.read_text(), language))
    assert made[0] == made[1]
