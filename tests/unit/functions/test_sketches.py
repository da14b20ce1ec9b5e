"""The sketches of the language that functions are made for: every type of theirs is settled."""

from __future__ import annotations

import pathlib

import pytest

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.parameters import names_in

SKETCHES = pathlib.Path(__file__).parents[2] / "golden" / "specs" / "sketches.yaml"
PARAMETERS = {
    "blip": "hf:team/a",
    "clip": "hf:team/b",
    "mood": "hf:team/c",
    "marian": "hf:team/d",
    "translate": "true",
}


def problems_of(name: str, folder: pathlib.Path) -> list[Problem]:
    text = next(
        text
        for text in SKETCHES.read_text(encoding="utf-8").split("\n---\n")
        if f"ensemble: {name}\n" in text
    )
    (folder / "coco.txt").write_text("person\nbicycle\n")
    files = Files(str(folder), (str(folder),), hosts=("*",))
    try:
        check_text(text, KINDS, files, parameters={one: PARAMETERS[one] for one in names_in(text)})
    except InvalidEnsemble as invalid:
        return list(invalid.problems)
    return []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("captions", []), ("detection", [("missing_file", "nodes.rcnn.uri")]), ("text", [])],
)
def test_a_sketch_types(name: str, wanted: list[tuple[str, str]], tmp_path: pathlib.Path) -> None:
    # The models are on the hub, where only workers look; a single file is missing.
    assert [(problem.code, problem.path) for problem in problems_of(name, tmp_path)] == wanted
