"""Problems of a combining node are reported at their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import NodeError
from tests.support.nodes import load_node, problems_of

HERE = Path(__file__).parent
SOFT = {"combine": "soft_vote", "inputs": ["a", "b"], "outputs": {"label": None}}
HARD = SOFT | {"combine": "hard_vote"}
MEAN = {"combine": "mean", "inputs": ["a", "b"], "outputs": {"y": None}}
WEIGHTED = MEAN | {"combine": "weighted_mean"}
PROBA = {"a": "array<double>[2]", "b": "array<float>[2]"}
TEXTS = {"a": "string", "b": "string"}
NUMBERS = {"a": "double", "b": "int32"}


@pytest.mark.parametrize(
    ("inputs", "node", "problem"),
    [
        (PROBA, SOFT | {"weights": [1]}, ("bad_weights", "weights")),
        (PROBA, SOFT | {"weights": [1, -1]}, ("bad_weights", "weights")),
        (PROBA, SOFT | {"weights": [0, 0]}, ("bad_weights", "weights")),
        (PROBA, SOFT | {"weights": [1, "2"]}, ("bad_weights", "weights")),
        (PROBA, SOFT | {"weights": [1, True]}, ("bad_weights", "weights")),
        (PROBA, SOFT | {"weights": []}, ("bad_weights", "weights")),
        (PROBA, SOFT | {"weights": [10**400, 1]}, ("bad_weights", "weights")),
        (PROBA, SOFT | {"weights": [1e308, 1e308]}, ("bad_weights", "weights")),
        (TEXTS, HARD | {"weights": [1, 2, 3]}, ("bad_weights", "weights")),
        (NUMBERS, WEIGHTED | {"weights": [1]}, ("bad_weights", "weights")),
        (NUMBERS, WEIGHTED, ("missing_key", "weights")),
        (NUMBERS, MEAN | {"weights": [1, 2]}, ("unknown_option", "weights")),
        (PROBA, SOFT | {"labels": ["a"]}, ("bad_labels", "labels")),
        (PROBA, SOFT | {"labels": ["a", "a"]}, ("bad_labels", "labels")),
        (PROBA, SOFT | {"labels": ["a", 1]}, ("bad_labels", "labels")),
        (PROBA, SOFT | {"labels": [0.5, 1.5]}, ("bad_labels", "labels")),
        (PROBA, SOFT | {"labels": []}, ("bad_labels", "labels")),
        (PROBA, SOFT | {"labels": [1, 2**63]}, ("bad_labels", "labels")),
        (PROBA, SOFT | {"labels": [["a"], ["b"]]}, ("bad_labels", "labels")),
        (TEXTS, HARD | {"labels": [1, 2]}, ("bad_labels", "labels")),
        (TEXTS, HARD | {"outputs": {"probabilities": None}}, ("bad_labels", "outputs.probabilities")),
        (PROBA | {"b": "array<double>[3]"}, SOFT, ("type_mismatch", "inputs[1]")),
        (PROBA | {"a": "double"}, SOFT, ("type_mismatch", "inputs[0]")),
        (PROBA | {"a": "array<int64>[2]"}, SOFT, ("type_mismatch", "inputs[0]")),
        (PROBA | {"a": "array<double>"}, SOFT, ("type_mismatch", "inputs[0]")),
        (TEXTS | {"b": "int64"}, HARD, ("type_mismatch", "inputs[1]")),
        (TEXTS | {"a": "double"}, HARD, ("type_mismatch", "inputs[0]")),
        (NUMBERS | {"b": "string"}, MEAN, ("type_mismatch", "inputs[1]")),
        (NUMBERS | {"a": "boolean"}, MEAN, ("type_mismatch", "inputs[0]")),
        (NUMBERS | {"b": "array<double>[2]"}, MEAN, ("type_mismatch", "inputs[1]")),
        (PROBA, SOFT | {"outputs": {"label": "string"}}, ("type_mismatch", "outputs.label")),
        (PROBA, SOFT | {"outputs": {"confidence": "int64"}}, ("type_mismatch", "outputs.confidence")),
        (
            PROBA,
            SOFT | {"outputs": {"probabilities": "array<double>[3]"}},
            ("type_mismatch", "outputs.probabilities"),
        ),
        (NUMBERS, MEAN | {"outputs": {"y": "int64"}}, ("type_mismatch", "outputs.y")),
        (PROBA, SOFT | {"outputs": {"answer": None}}, ("unknown_port", "outputs.answer")),
        (PROBA, SOFT | {"inputs": {"first": "a", "second": "b"}}, ("unknown_port", "inputs.first")),
    ],
)
def test_a_mistake_is_said_at_its_place(
    inputs: dict[str, str], node: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problems_of(HERE, inputs, node) == [problem]


def test_all_mistakes_of_a_node_are_said_together() -> None:
    node = SOFT | {"weights": [0, 0], "labels": ["a", "b", "c"]}
    found = problems_of(HERE, PROBA | {"b": "string"}, node)
    assert sorted(found) == [
        ("bad_labels", "labels"),
        ("bad_weights", "weights"),
        ("type_mismatch", "inputs[1]"),
    ]


def test_a_label_that_is_not_listed_is_an_error_of_its_row() -> None:
    member = load_node(HERE, TEXTS, HARD | {"labels": ["yes", "no"]})
    with pytest.raises(NodeError, match="'maybe'") as caught:
        member({"a": np.array(["yes"], dtype=object), "b": np.array(["maybe"], dtype=object)})
    assert caught.value.code == "unknown_label"
