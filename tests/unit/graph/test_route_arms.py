"""Conditions that name an arm which their route does not give."""

from __future__ import annotations

import pytest

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS

TEXT = """
ensemble: arms
inputs: {x: double, user: string}
nodes:
  test: {route: split, arms: {high: 1, low: 2}, inputs: [user], outputs: {arm: string}}
  lane:
    route: switch
    cases: [{when: "WHEN", arm: fast}, {when: "x > 1", arm: slow}]
    default: usual
    outputs: {way: string}
  twice: {apply: sql, when: "LATE", select: {y: "x * 2"}}
outputs: [arm, way, y]
"""


def warnings(when: str = "x > 2", late: str = "x > 0") -> list[tuple[str, str, str]]:
    found = check_text(TEXT.replace("WHEN", when).replace("LATE", late), KINDS, Files("/")).warnings
    return [(one.code, one.path, one.message) for one in found]


@pytest.mark.parametrize(
    "condition",
    [
        "arm = 'high'",
        "'low' = arm",
        "way = 'usual' OR way <> 'slow'",
        "user = 'hihg'",
        "UPPER(arm) = 'HIGH'",
        "x > 1",
    ],
)
def test_arms_that_there_are_and_other_texts_are_right(condition: str) -> None:
    assert warnings(late=condition) == []


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("arm = 'hihg'", "the route 'test' has no such arm; did you mean 'high'? (arms: high, low)"),
        (
            "x > 1 AND NOT 'lo' = arm",
            "the route 'test' has no such arm; did you mean 'low'? (arms: high, low)",
        ),
        ("IF(way <> 'fst', x, 0) > 1", "did you mean 'fast'? (arms: fast, slow, usual)"),
        ("way IS DISTINCT FROM 'Usual'", "did you mean 'usual'?"),
    ],
)
def test_an_arm_that_there_is_not_is_a_warning(condition: str, said: str) -> None:
    ((code, path, message),) = warnings(late=condition)
    assert (code, path) == ("unknown_arm", "nodes.twice.when")
    assert said in message


def test_cases_are_looked_at_too() -> None:
    ((code, path, _),) = warnings(when="arm = 'hihg'")
    assert (code, path) == ("unknown_arm", "nodes.lane.cases[0].when")


def test_each_arm_is_said_once() -> None:
    assert len(warnings(late="arm = 'no' OR arm = 'no' AND x > 1")) == 1
