"""Members of a vote must tell the same classes apart; whose labels differ is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS

AB, BA, AC = ["a", "b"], ["b", "a"], ["a", "c"]


def check(
    folder: Path, kind: str, members: list[list[str] | None], vote: list[str] | None
) -> list[tuple[str, str]]:
    """Checks a vote of members that say their labels, or do not; gives code and path of each problem."""
    type_ = "array<double>[2]" if kind == "soft_vote" else "string"
    nodes: dict[str, Any] = {}
    for at, labels in enumerate(members):
        node = {
            "model": "python",
            "handler": "tests.handlers.Handler",
            "inputs": ["x"],
            "outputs": {f"m{at}": type_},
        }
        nodes[f"member{at}"] = node | ({"labels": labels} if labels else {})
    columns = [f"m{at}" for at in range(len(members))]
    nodes["vote"] = {"combine": kind, "inputs": columns, "outputs": {"label": None}}
    nodes["vote"] |= {"labels": vote} if vote else {}
    text = json.dumps({"ensemble": "test", "inputs": {"x": "double"}, "nodes": nodes})
    try:
        check_text(text, KINDS, Files(str(folder), code=("tests.*",)))
    except InvalidEnsemble as exc:
        return [(problem.code, problem.path) for problem in exc.problems]
    return []


@pytest.mark.parametrize(
    ("members", "vote", "wrong"),
    [
        ([AB, AB], AB, []),
        ([AB, None, AB], None, []),
        ([None, None], BA, []),
        ([AB, BA], None, []),
        ([AB, AB], BA, []),
        ([AB, BA, AC], AB, [2]),
        ([AC, None, BA], None, [2]),
        ([AB, None, BA, None], None, [1, 3]),
        ([None, BA], AB, [0]),
        ([None, AC], AB, [1]),
    ],
)
def test_soft_votes_need_one_set_and_where_orders_differ_every_order(
    tmp_path: Path, members: list[list[str] | None], vote: list[str] | None, wrong: list[int]
) -> None:
    places = [("label_mismatch", f"nodes.vote.inputs[{at}]") for at in wrong]
    assert check(tmp_path, "soft_vote", members, vote) == places


@pytest.mark.parametrize(
    ("members", "vote", "wrong"), [([AB, BA], None, []), ([AB, AC], None, [1]), ([AB], AC, [0])]
)
def test_hard_votes_need_one_set(
    tmp_path: Path, members: list[list[str] | None], vote: list[str] | None, wrong: list[int]
) -> None:
    places = [("label_mismatch", f"nodes.vote.inputs[{at}]") for at in wrong]
    assert check(tmp_path, "hard_vote", members, vote) == places
