"""Combiners in an ensemble some of whose columns are null: quorum, missing members, the first of a cascade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler, InferenceError
from beam_ensembles.runtime.loading import graph_of_file

GOLDEN = Path(__file__).parents[2] / "golden" / "specs"
ROWS: list[dict[str, Any]] = [
    {"a": 1.0, "b": 2.0, "c": 6.0, "s": "x"},
    {"a": None, "b": 2.0, "c": 6.0, "s": None},
    {"a": None, "b": None, "c": 6.0, "s": "y"},
    {"a": None, "b": None, "c": None, "s": None},
]


def answers(folder: Path, node: str, output: str = "null") -> list[Any]:
    """Runs a file of one node on ``ROWS``; gives the answers, or the codes of the errors."""
    file = folder / "ensemble.yaml"
    file.write_text(
        "ensemble: nulls\ninputs: {a: 'double?', b: 'double?', c: 'double?', s: 'string?'}\n"
        f"nodes:\n  node: {{{node}, outputs: {{y: {output}}}}}\n"
    )
    made = EnsembleModelHandler(file)
    rows = [beam.Row(**row) for row in ROWS]
    found = [result.inference for result in made.run_inference(rows, made.load_model())]
    return [one.code if isinstance(one, InferenceError) else one.y for one in found]


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        ("combine: mean, inputs: [a, b, c]", [3.0, *["member_missing"] * 3]),
        ("combine: mean, quorum: 3, inputs: [a, b, c]", [3.0, *["quorum_missed"] * 3]),
        ("combine: mean, quorum: 2, inputs: [a, b, c]", [3.0, 4.0, "quorum_missed", "quorum_missed"]),
        ("combine: weighted_mean, weights: [2, 1, 1], quorum: 1, inputs: [a, b, c]", [2.5, 4.0, 6.0, "quorum_missed"]),
        ("combine: median, quorum: 1, inputs: [a, b, c]", [2.0, 4.0, 6.0, "quorum_missed"]),
        ("combine: max, quorum: 1, inputs: [a, b]", [2.0, 2.0, "quorum_missed", "quorum_missed"]),
        ("combine: first, inputs: [a, b, c]", [1.0, 2.0, 6.0, None]),
        ("combine: first, inputs: [s]", ["x", None, "y", None]),
    ],
)  # fmt: skip
def test_rows_with_nulls(tmp_path: Path, node: str, wanted: list[Any]) -> None:
    assert answers(tmp_path, node) == wanted


def test_votes_on_rows_with_nulls(tmp_path: Path) -> None:
    vote = "combine: hard_vote, quorum: 1, inputs: [s, s]"
    assert answers(tmp_path, vote, "{from: label}") == ["x", "quorum_missed", "y", "quorum_missed"]
    assert answers(tmp_path, vote, "{from: confidence}") == [1.0, "quorum_missed", 1.0, "quorum_missed"]


def test_a_first_is_nullable_only_where_all_members_are(tmp_path: Path) -> None:
    file = tmp_path / "ensemble.yaml"
    file.write_text(
        "ensemble: nulls\ninputs: {a: 'double?', b: double}\nnodes:\n"
        "  one: {combine: first, inputs: [a], outputs: {one: null}}\n"
        "  two: {combine: first, inputs: [a, b], outputs: {two: null}}\n"
    )
    assert {name: str(type_) for name, type_ in graph_of_file(file).outputs} == {
        "one": "double?",
        "two": "double",
    }


def test_every_combiner_in_one_ensemble() -> None:
    made = EnsembleModelHandler(GOLDEN / "combiners.yaml")
    row: dict[str, Any] = {
        "low": 1.0,
        "middle": 4.0,
        "high": None,
        "count": 2,
        "proba": [0.25, 0.75],
        "other": None,
        "one": "x",
        "two": None,
        "captions": ["a", "b", "c"],
        "scores": [0.5, 0.25, 0.75],
    }
    good, bad = made.run_inference([beam.Row(**row), beam.Row(**row | {"scores": [0.5]})], made.load_model())
    assert bad.inference.code == "misaligned"
    found = good.inference.as_dict()
    assert [one.as_dict() for one in found.pop("best")] == [
        {"caption": "c", "score": 0.75},
        {"caption": "a", "score": 0.5},
    ]
    assert [one.as_dict() for one in found.pop("plain")] == [
        {"candidate": "c", "score": 0.75},
        {"candidate": "a", "score": 0.5},
    ]
    assert {name: value for name, value in found.items() if name not in row} == {
        "mean": 2.5,
        "weighted": 2.0,
        "median": 2.5,
        "max": 2.0,
        "min": 2.0,
        "soft": "spam",
        "hard": "x",
        "share": 1.0,
        "unanimous": True,
        "agreement": 1.0,
        "sure": "x",
        "unsure": 4.0,
        "features": [0.75, 1.0, 2.0, 0.25, 0.75],
    }
