"""Seven real ensembles: the language can say them, though this version builds few of their kinds."""

from __future__ import annotations

import pathlib

import pytest

from beam_ensembles.spec import examine_text

SKETCHES = pathlib.Path(__file__).parents[2] / "golden" / "specs" / "sketches.yaml"
PARAMETERS = {"blip": "a", "clip": "b", "mood": "c", "marian": "d", "translate": "true"}


@pytest.mark.parametrize("text", SKETCHES.read_text(encoding="utf-8").split("\n---\n"))
def test_a_sketch_is_right_but_for_what_is_not_built(text: str) -> None:
    spec, problems = examine_text(text, parameters=PARAMETERS)
    assert spec is not None
    assert {problem.code for problem in problems} <= {"not_built"}
    assert all(node.kind and node.target and node.outputs for node in spec.nodes)


def test_there_are_seven() -> None:
    assert SKETCHES.read_text(encoding="utf-8").count("\nensemble: ") == 7
