"""Combiners in an ensemble some of whose columns are null: quorum, missing members, the first of a cascade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler, InferenceError
from beam_ensembles.runtime.loading import graph_of_file

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
