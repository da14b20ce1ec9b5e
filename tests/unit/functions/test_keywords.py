"""``apply: keywords``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yake

from beam_ensembles.functions.keywords import LANGUAGES
from tests.support.media import objects
from tests.support.nodes import load_node, problems_of, types_of

FOLDER = Path("/")
TEXTS = (
    "Google is acquiring Kaggle, a platform that hosts data science and machine learning competitions.",
    "The cat sat on the mat. The cat slept.\nNobody minded the cat.",
    "",
    "the of and",
    "Kaggle, a platform for machine learning, was founded by Anthony Goldbloom in 2010.",
)
OUTPUTS = {"words": {"from": "keywords"}, "scores": None}


def node_of(**more: Any) -> dict[str, Any]:
    return {"apply": "keywords", "inputs": ["t"], "outputs": OUTPUTS, **more}


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, {"top": 10}),
        ({"k": 2, "max_words": 1}, {"top": 2, "n": 1}),
        ({"language": "de"}, {"top": 10, "lan": "de"}),
    ],
)
def test_keywords_are_those_of_yake(options: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert types_of(FOLDER, {"t": "string"}, node_of(**options)) == {
        "words": "array<string>",
        "scores": "array<double>",
    }
    found = load_node(FOLDER, {"t": "string"}, node_of(**options))({"t": objects(*TEXTS)})
    wanted = [yake.KeywordExtractor(**arguments).extract_keywords(text) for text in TEXTS]
    assert found["words"].tolist() == [[word for word, _ in one] for one in wanted]
    assert found["scores"].tolist() == [[score for _, score in one] for one in wanted]
    assert found["words"][2] == []
    assert all(type(score) is float for row in found["scores"] for score in row)


def test_an_answer_does_not_depend_on_the_batch() -> None:
    member = load_node(FOLDER, {"t": "string"}, node_of())
    together = member({"t": objects(*TEXTS)})["words"].tolist()
    assert together == [member({"t": objects(text)})["words"][0] for text in TEXTS]


def test_the_languages_are_yakes() -> None:
    folder = Path(str(yake.__file__)).parent / "core" / "StopwordsList"
    found = {path.stem.removeprefix("stopwords_") for path in folder.glob("*.txt")}
    assert found - {"noLang"} == set(LANGUAGES)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"language": "xx"}, [("bad_value", "language")]),
        ({"k": 0}, [("bad_value", "k")]),
        ({"max_words": 99}, [("bad_value", "max_words")]),
        ({"inputs": ["x"]}, [("type_mismatch", "inputs[0]")]),
        ({"outputs": {"words": None}}, [("unknown_port", "outputs.words")]),
        ({"outputs": {"keywords": "string"}}, [("type_mismatch", "outputs.keywords")]),
    ],
)
def test_what_is_wrong(change: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert problems_of(FOLDER, {"t": "string", "x": "array<string>"}, {**node_of(), **change}) == wanted
