"""The SVG: the golden file, that it is well-formed and harmless whatever a file says, and that it can be read aloud."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

from hypothesis import example, given, settings
from hypothesis import strategies as st

from beam_ensembles.drawing import Picture, svg
from tests.unit.drawing.conftest import drawn

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {f"{SVG}{name}" for name in ("svg", "title", "desc", "style", "rect", "g", "path", "text")}


def texts(picture: Picture) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg(picture)).iter(f"{SVG}text")]


def test_the_golden_picture(review: Picture) -> None:
    assert svg(review) == (GOLDEN / "review.svg").read_text(encoding="utf-8")


def test_another_process_draws_the_same_bytes() -> None:
    code = (
        "from tests.unit.drawing.conftest import STAGES, TEXT, drawn\n"
        "import dataclasses, sys; from beam_ensembles.drawing import svg\n"
        "sys.stdout.write(svg(dataclasses.replace(drawn(TEXT), stages=STAGES)))"
    )
    root = GOLDEN.parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={"PYTHONHASHSEED": "7"},
    )
    assert done.stdout == (GOLDEN / "review.svg").read_text(encoding="utf-8")


def test_everything_stands_on_it(review: Picture) -> None:
    found = " ".join(texts(review))
    for text in ("row in", "cheap", "model: pytorch", "stage review/expert", "x: array<double>[4]", "on_error: nullify",
                 "when p < 0.7 AND arm = 'a'", "compared", "picks an arm"):  # fmt: skip
        assert text in found


def test_it_can_be_read_aloud(review: Picture) -> None:
    root = ET.fromstring(svg(review))
    title, about = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert about is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {about.get('id')}"
    assert title.text == "Ensemble review"
    assert about.text is not None
    assert "expert (model: pytorch); reads x: array<double>[4]" in about.text
    assert "Stage review/expert: expert, answer, nice" in about.text


def test_shadows_and_conditions_are_dashed(review: Picture) -> None:
    root = ET.fromstring(svg(review))
    by_title = {group.findtext(f"{SVG}title", "").split(" ")[0]: group for group in root.iter(f"{SVG}g")}
    assert by_title["next"][1].get("stroke-dasharray")
    assert not by_title["cheap"][1].get("stroke-dasharray")
    conditions = [path for path in root.iter(f"{SVG}path") if path.get("class") == "condition"]
    assert conditions
    assert all(path.get("stroke-dasharray") for path in conditions)


def test_it_has_a_page_of_its_own_in_light_and_dark(review: Picture) -> None:
    root = ET.fromstring(svg(review))
    page = root.find(f"{SVG}rect")
    assert page is not None
    assert (page.get("class"), page.get("width"), page.get("height")) == (
        "page",
        root.get("width"),
        root.get("height"),
    )
    style = root.findtext(f"{SVG}style", "")
    coloured = {
        element.get("class") for element in root.iter() if element.get("fill") or element.get("stroke")
    }
    dark = set(re.findall(r"\.([\w-]+)", style.split("{", 1)[1]))
    assert coloured - {None} <= dark


@settings(deadline=None)
@given(text=st.text(min_size=1))
@example("</title></svg><script>alert(1)</script>")
@example("a\x00b\x0bc\ud800d\ufffe" + "\"&<>'")
def test_no_text_breaks_out(text: str) -> None:
    picture = drawn(json.dumps({
        "ensemble": "any", "inputs": {"a": "double"},
        "nodes": {"one": {"model": "sklearn", "when": "a > 1", "inputs": ["a"], "outputs": {"d": "double"}}},
    }))  # fmt: skip
    figures = [
        dataclasses.replace(one, title=text, condition=text, lines=(text,), about=(text,))
        for one in picture.figures
    ]
    flows = [dataclasses.replace(one, columns=(text,)) for one in picture.flows]
    odd = dataclasses.replace(
        picture, figures=tuple(figures), flows=tuple(flows), description=text, note=text
    )
    root = ET.fromstring(svg(odd).encode())
    assert {element.tag for element in root.iter()} <= ALLOWED
    assert not any(
        name.startswith("on") or "href" in name for element in root.iter() for name in element.attrib
    )


def test_the_picture_in_the_documentation_is_of_the_example() -> None:
    root = GOLDEN.parents[2]
    found = (root / "docs" / "assets" / "digits.svg").read_text(encoding="utf-8")
    figures = drawn((root / "examples" / "digits" / "digits.yaml").read_text(encoding="utf-8")).figures
    assert all(f">{figure.title}</text>" in found for figure in figures)
