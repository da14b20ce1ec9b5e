"""Seven real ensembles: the language can say them, and all that is wrong with them is that their files are not here."""

from __future__ import annotations

import pathlib

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.parameters import names_in

SKETCHES = pathlib.Path(__file__).parents[2] / "golden" / "specs" / "sketches.yaml"
PARAMETERS = {"blip": "a", "clip": "b", "mood": "c", "marian": "d", "translate": "true"}
TEXTS = SKETCHES.read_text(encoding="utf-8").split("\n---\n")


@pytest.mark.parametrize("text", TEXTS)
def test_a_sketch_is_right_but_for_its_files(text: str, tmp_path: pathlib.Path) -> None:
    files = Files(str(tmp_path), (str(tmp_path),), code=ANYTHING, hosts=("triton",), secrets=ANYTHING)
    assert codes_of(text, files) <= {"missing_file", "bad_sha256"}, "the digests are written as ..."


def codes_of(text: str, files: Files) -> set[str]:
    try:
        check_text(text, KINDS, files, parameters={name: PARAMETERS[name] for name in names_in(text)})
    except InvalidEnsemble as error:
        return {problem.code for problem in error.problems}
    return set()


def test_there_are_seven() -> None:
    assert len(TEXTS) == 7
