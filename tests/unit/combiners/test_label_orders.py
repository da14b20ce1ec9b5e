"""Members of a soft vote whose classes stand in another order are put into the vote's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.registry import KINDS

NAMES = ["setosa", "versicolor", "virginica"]
TURNED = ["virginica", "setosa", "versicolor"]
Values = np.ndarray[Any, np.dtype[Any]]


def vote_node(folder: Path, members: list[list[str] | None], labels: list[str] | None) -> CheckedNode:
    """Checks a vote of models that say their classes."""
    (folder / "m.joblib").touch()
    nodes: dict[str, Any] = {}
    for at, own in enumerate(members):
        node = {"model": "sklearn", "uri": "m.joblib", "method": "predict_proba", "inputs": ["x"]}
        nodes[f"m{at}"] = (
            node | {"outputs": {f"p{at}": "array<double>[3]"}} | ({"labels": own} if own else {})
        )
    vote = {"combine": "soft_vote", "inputs": [f"p{at}" for at in range(len(members))]}
    nodes["vote"] = vote | {"outputs": {"label": None, "shares": {"from": "probabilities"}}}
    nodes["vote"] |= {"labels": labels} if labels else {}
    text = json.dumps({"ensemble": "test", "inputs": {"x": "array<double>[4]"}, "nodes": nodes})
    return check_text(text, KINDS, Files(str(folder), (str(folder),))).nodes[-1]


def vote(
    folder: Path, members: list[list[str] | None], labels: list[str] | None, columns: dict[str, Values]
) -> Any:
    return KINDS["combine", "soft_vote"].load(vote_node(folder, members, labels))(columns)


@pytest.mark.parametrize("labels", [NAMES, TURNED, None], ids=["sorted", "turned", "none"])
def test_the_vote_is_scikit_learns_whatever_the_order(tmp_path: Path, labels: list[str] | None) -> None:
    x, y = load_iris().data, np.array(NAMES)[load_iris().target]
    members = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]
    model = VotingClassifier(members, voting="soft").fit(x, y)
    first, second = (member.predict_proba(x) for member in model.estimators_)
    order = [NAMES.index(name) for name in TURNED]
    found = vote(tmp_path, [NAMES, TURNED], labels, {"p0": first, "p1": second[:, order]})
    wanted = model.predict_proba(x)
    np.testing.assert_array_equal(found["shares"], wanted[:, order] if labels == TURNED else wanted)
    given = found["label"].tolist()
    assert (given if labels else [NAMES[at] for at in given]) == model.predict(x).tolist()


def test_members_of_unknown_order_are_taken_in_the_order_that_all_others_have(tmp_path: Path) -> None:
    p = np.array([[0.125, 0.25, 0.625]])
    found = vote(tmp_path, [None, NAMES], NAMES, {"p0": p, "p1": p})
    np.testing.assert_array_equal(found["shares"], p)


def test_what_a_vote_gives_is_in_the_order_of_its_labels(tmp_path: Path) -> None:
    """A vote over votes puts the inner one's averages into order too."""
    joblib.dump(GaussianNB(), tmp_path / "m.joblib")
    model = {"model": "sklearn", "uri": "m.joblib", "method": "predict_proba", "inputs": ["x"]}
    nodes = {
        "a": model | {"labels": NAMES, "outputs": {"p": "array<double>[3]"}},
        "inner": {
            "combine": "soft_vote",
            "inputs": ["p"],
            "labels": TURNED,
            "outputs": {"q": {"from": "probabilities"}},
        },
        "outer": {
            "combine": "soft_vote",
            "inputs": ["p", "q"],
            "labels": NAMES,
            "outputs": {"shares": {"from": "probabilities"}},
        },
    }
    text = json.dumps({"ensemble": "test", "inputs": {"x": "array<double>[4]"}, "nodes": nodes})
    graph = check_text(text, KINDS, Files(str(tmp_path), (str(tmp_path),)))
    p = np.array([[0.125, 0.25, 0.625]])
    columns = {"p": p}
    for node in graph.nodes[1:]:
        columns |= KINDS["combine", "soft_vote"].load(node)(columns)
    np.testing.assert_array_equal(columns["q"], [[0.625, 0.125, 0.25]])
    np.testing.assert_array_equal(columns["shares"], p)


def test_as_many_labels_as_probabilities(tmp_path: Path) -> None:
    (tmp_path / "m.joblib").touch()
    nodes = {
        "a": {
            "model": "sklearn",
            "uri": "m.joblib",
            "method": "predict_proba",
            "labels": NAMES,
            "inputs": ["x"],
            "outputs": {"p": "array<double>[2]"},
        },
        "vote": {"combine": "soft_vote", "inputs": ["p"], "outputs": {"label": None}},
    }
    text = json.dumps({"ensemble": "test", "inputs": {"x": "double"}, "nodes": nodes})
    with pytest.raises(
        InvalidEnsemble, match=r"\[label_mismatch\] nodes.vote.inputs\[0\]: 'a' has 3 labels"
    ) as caught:
        check_text(text, KINDS, Files(str(tmp_path), (str(tmp_path),)))
    assert len(caught.value.problems) == 1
