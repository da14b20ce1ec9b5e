"""Mermaid's text: the golden file, and that nothing of a file can break out of its quotes."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re

from hypothesis import example, given
from hypothesis import strategies as st

from beam_ensembles.drawing import Picture, mermaid
from tests.unit.drawing.conftest import drawn

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "pictures"
LINE = re.compile(
    r"    (?:"
    r'(?:    )?\w+(?:\[/|\[|\{\{|\{|\(\[)"[^"]*"(?:/\]|\]|\}\}|\}|\]\))'
    r'|subgraph stage_\d+\["[^"]*"\]|end'
    r'|\w+ -- "[^"]*" --> \w+(?: & \w+)*|\w+ -\. "[^"]*" \.->? \w+'
    r"|classDef \w+ [\w:#, -]+|class [\w,]+ \w+"
    r"|acc(?:Title|Descr): [^\n]*)"
)


def test_the_golden_text(review: Picture) -> None:
    assert mermaid(review) == (GOLDEN / "review.mmd").read_text(encoding="utf-8")


def test_shapes_and_lines(review: Picture) -> None:
    text = mermaid(review)
    assert 'n1["<b>cheap</b>' in text
    assert 'n2{"<b>arm</b>' in text
    assert 'n5{{"<b>answer</b>' in text
    assert 'n6(["<b>nice</b>' in text
    assert """n1 -. "when p &lt; 0.7 AND arm = 'a'" .-> n4""" in text
    assert 'n1 -. "compared" .- n3' in text
    assert "class n3 shadow" in text


@given(text=st.text())
@example(text="%%{init: {'theme': 'dark'}}%%\x1b[31m\u202e")
def test_no_text_breaks_out(text: str) -> None:
    picture = drawn(json.dumps({
        "ensemble": "any", "description": text, "inputs": {"a": "double"},
        "nodes": {"one": {"model": text, "inputs": ["a"], "outputs": {"d": "double"}}},
    }))  # fmt: skip
    figures = [dataclasses.replace(one, title=text, condition=text) for one in picture.figures]
    lines = mermaid(dataclasses.replace(picture, figures=tuple(figures), note=text)).splitlines()
    assert lines[:4] == ["---", 'title: "any"', "---", "flowchart LR"]
    assert all(LINE.fullmatch(line) and line.isprintable() for line in lines[4:]), lines
    assert "%%" not in "".join(lines)
