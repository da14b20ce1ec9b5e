"""A node's own keys against those of its kind."""

from __future__ import annotations

import pytest

from beam_ensembles.graph.option_checks import check_options
from beam_ensembles.spec import NodeSpec
from tests.unit.graph.conftest import FakeKind


def found(model: FakeKind, **options: object) -> list[tuple[str, str, str]]:
    node = NodeSpec("n", "model", "sklearn", None, (), {"uri": "a", **options})
    return [(problem.code, problem.path, problem.message) for problem in check_options(node, model)]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "predict"},
        {"copies": 0},
        {"share": 1},
        {"share": 0.5},
        {"loud": False},
        {"weights": []},
        {"config": {"anything": [1]}},
    ],
)
def test_right_ones(model: FakeKind, options: dict[str, object]) -> None:
    assert found(model, **options) == []


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"uri": 3}, "wrong_type", "'uri' must be text, found the number 3"),
        ({"copies": 1.5}, "wrong_type", "a whole number, found the number 1.5"),
        ({"copies": True}, "wrong_type", "found the truth value true"),
        ({"share": "a" * 99}, "wrong_type", f"found the text '{'a' * 56}..."),
        ({"loud": "yes"}, "wrong_type", "true or false, found the text 'yes'"),
        ({"weights": {}}, "wrong_type", "a list, found a mapping"),
        ({"config": [1]}, "wrong_type", "a mapping, found a list"),
        ({"method": "predict_probs"}, "bad_value", "did you mean 'predict_proba'? (allowed: predict, "),
        ({"samples": 0}, "bad_value", "'samples' is 0; allowed: 1 to 9"),
        ({"samples": 10}, "bad_value", "'samples' is 10; allowed: 1 to 9"),
        ({"k": 5_001}, "bad_value", "'k' is 5001; at most 5,000 is allowed"),
        ({"metod": "predict"}, "unknown_option", "did you mean 'method'?"),
        ({"outpts": {}}, "unknown_option", "did you mean 'outputs'?"),
        ({"timeut": 1}, "unknown_option", "did you mean 'timeout'?"),
    ],
)  # fmt: skip
def test_wrong_ones(model: FakeKind, options: dict[str, object], code: str, words: str) -> None:
    ((found_code, path, message),) = found(model, **options)
    assert (found_code, path) == (code, f"nodes.n.{next(iter(options))}")
    assert words in message


def test_a_required_one_is_missing(model: FakeKind) -> None:
    (problem,) = check_options(NodeSpec("n", "model", "sklearn", None, ()), model)
    assert (problem.code, problem.path) == ("missing_key", "nodes.n.uri")
    assert problem.message == "a node with 'model: sklearn' needs 'uri': the model's file"
