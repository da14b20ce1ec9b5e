"""Votes take probabilities only: what is known to be something else is refused, and every row is looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_iris

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.registry import KINDS
from tests.support.nodes import load_node

HERE = Path(__file__).parent
SKLEARN = {"model": "sklearn", "uri": "m.joblib", "inputs": ["x"]}
VOTE = {"combine": "soft_vote", "inputs": ["p"], "outputs": {"label": None}}


def checked(folder: Path, nodes: dict[str, Any]) -> tuple[CheckedNode, ...]:
    text = json.dumps(
        {"ensemble": "test", "inputs": {"x": "array<double>[4]", "t": "string"}, "nodes": nodes}
    )
    return check_text(text, KINDS, Files(str(folder), (str(folder),), code=ANYTHING)).nodes


def problems(folder: Path, nodes: dict[str, Any]) -> list[tuple[str, str]]:
    try:
        checked(folder, nodes)
    except InvalidEnsemble as exc:
        return [(problem.code, problem.path) for problem in exc.problems]
    return []


def sklearn(folder: Path, method: str) -> dict[str, Any]:
    (folder / "m.joblib").touch()
    return {**SKLEARN, "method": method, "outputs": {"p": "array<double>[3]"}}


def margins(folder: Path, **args: Any) -> dict[str, Any]:
    data = load_iris()
    xgboost.XGBClassifier(n_estimators=2).fit(data.data, data.target).save_model(folder / "m.json")
    node = {"model": "xgboost", "uri": "m.json", "inference_args": args, "inputs": ["x"]}
    return {**node, "outputs": {"p": "array<float>[3]"}}


def flags(folder: Path) -> dict[str, Any]:
    data = load_iris()
    model = xgboost.XGBClassifier(n_estimators=2, objective="multi:softprob", num_class=2)
    model.fit(data.data, data.target == 2).save_model(folder / "flags.json")
    node = {"model": "xgboost", "uri": "flags.json", "model_class": "XGBClassifier", "inputs": ["x"]}
    return {**node, "outputs": {"p": None}}


def network(folder: Path, config: dict[str, Any], port: str = "probabilities", **args: Any) -> dict[str, Any]:
    (folder / "net").mkdir()
    names = {"id2label": {"0": "a", "1": "b", "2": "c"}, "architectures": ["BertForSequenceClassification"]}
    (folder / "net" / "config.json").write_text(json.dumps({"model_type": "bert", **names, **config}))
    node = {"model": "huggingface", "task": "text-classification", "uri": "net", "inference_args": args}
    return {**node, "inputs": ["t"], "outputs": {"p": {"type": "array<double>[3]", "from": port}}}


REFUSED = {
    "decision_function": lambda folder: sklearn(folder, "decision_function"),
    "predict": lambda folder: sklearn(folder, "predict"),
    "transform": lambda folder: sklearn(folder, "transform"),
    "output_margin": lambda folder: margins(folder, output_margin=True),
    "pred_leaf": lambda folder: margins(folder, pred_leaf=True),
    "flags of classes": flags,
    "function_to_apply none": lambda folder: network(folder, {}, function_to_apply="none"),
    "function_to_apply sigmoid": lambda folder: network(folder, {}, function_to_apply="sigmoid"),
    "several classes": lambda folder: network(folder, {"problem_type": "multi_label_classification"}),
    "best first": lambda folder: network(folder, {}, "scores"),
}
TAKEN = {
    "predict_proba": lambda folder: sklearn(folder, "predict_proba"),
    "iteration_range": lambda folder: margins(folder, iteration_range=[0, 1]),
    "softmax": lambda folder: network(folder, {}, function_to_apply="softmax"),
    "texts": lambda folder: network(folder, {"problem_type": "single_label_classification"}),
}


@pytest.mark.parametrize("member", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_known_to_be_no_probabilities_is_refused_before_the_run(tmp_path: Path, member: Any) -> None:
    node = member(tmp_path)
    assert ("not_probabilities", "nodes.vote.inputs[0]") in problems(tmp_path, {"a": node, "vote": VOTE})
    found = problems(tmp_path, {"a": node, "vote": VOTE | {"check_probabilities": False}})
    assert "not_probabilities" not in [code for code, _ in found]


@pytest.mark.parametrize("member", TAKEN.values(), ids=TAKEN.keys())
def test_probabilities_are_taken(tmp_path: Path, member: Any) -> None:
    assert "not_probabilities" not in [
        code for code, _ in problems(tmp_path, {"a": member(tmp_path), "vote": VOTE})
    ]


def test_a_softmax_makes_probabilities_and_keeps_the_classes(tmp_path: Path) -> None:
    nodes = {
        "a": sklearn(tmp_path, "decision_function")
        | {"labels": ["a", "b", "c"], "outputs": {"s": "array<double>[3]"}},
        "soft": {"apply": "softmax", "inputs": ["s"], "outputs": {"p": None}},
        "vote": VOTE | {"labels": ["c", "b", "a"]},
    }
    assert problems(tmp_path, nodes) == []
    member = KINDS["combine", "soft_vote"].load(checked(tmp_path, nodes)[-1])
    assert member({"p": np.array([[0.75, 0.25, 0.0]])})["label"].tolist() == ["a"]


def test_the_best_scores_are_no_probabilities_even_behind_a_softmax(tmp_path: Path) -> None:
    nodes = {
        "a": sklearn(tmp_path, "predict_proba") | {"outputs": {"s": "array<double>[3]"}},
        "best": {"apply": "top_k", "k": 2, "inputs": ["s"], "outputs": {"best": {"from": "scores"}}},
        "soft": {"apply": "softmax", "inputs": ["best"], "outputs": {"p": None}},
        "vote": VOTE,
    }
    assert problems(tmp_path, nodes) == [("not_probabilities", "nodes.vote.inputs[0]")]


@pytest.mark.parametrize(
    "row",
    [[1.2, -0.4, -3.6], [0.5, 0.4, 0.3], [0.2, 0.2, 0.2], [1.5, -0.5, 0.0], [np.nan, 0.5, 0.5]],
    ids=str,
)
@pytest.mark.parametrize("type_", ["double", "float"])
def test_a_row_of_other_values_fails(row: list[float], type_: str) -> None:
    vote = load_node(HERE, {"p": f"array<{type_}>[3]"}, VOTE)
    good = [0.2, 0.3, 0.5]
    dtype = np.float64 if type_ == "double" else np.float32
    with pytest.raises(NodeError, match="'p' holds") as caught:
        vote({"p": np.array([good, row], dtype)})
    assert caught.value.code == "not_probabilities"
    vote({"p": np.array([good, good], dtype)})
    load_node(HERE, {"p": f"array<{type_}>[3]"}, VOTE | {"check_probabilities": False})(
        {"p": np.array([row], dtype)}
    )


def test_rounded_probabilities_pass() -> None:
    vote = load_node(HERE, {"p": "array<double>[3]"}, VOTE)
    vote({"p": np.array([[0.33, 0.33, 0.33], [0.3335, 0.334, 0.334]])})


def test_a_member_without_a_value_is_not_looked_at() -> None:
    node = VOTE | {"inputs": ["p", "q"], "quorum": 1}
    vote = load_node(HERE, {"p": "array<double>[2]?", "q": "array<double>[2]"}, node)
    columns = {"p": np.array([[9.0, 9.0]]), "p?": np.array([False]), "q": np.array([[0.25, 0.75]])}
    assert vote(columns)["label"].tolist() == [1]


def test_a_stack_leaves_out_one_of_two_only_where_they_are_probabilities() -> None:
    node = {"combine": "stack", "inputs": ["p"], "outputs": {"f": {"from": "features"}}}
    stack = load_node(HERE, {"p": "array<float>[2]"}, node)
    assert stack({"p": np.array([[0.25, 0.75]], np.float32)})["f"].tolist() == [[0.75]]
    with pytest.raises(NodeError, match="'drop: none' on the stack") as caught:
        stack({"p": np.array([[-1.5, 2.5]], np.float32)})
    assert caught.value.code == "not_probabilities"
    both = load_node(HERE, {"p": "array<float>[2]"}, node | {"drop": "none"})
    assert both({"p": np.array([[-1.5, 2.5]], np.float32)})["f"].tolist() == [[-1.5, 2.5]]


def test_a_stack_keeps_both_of_two_scores(tmp_path: Path) -> None:
    node = sklearn(tmp_path, "decision_function") | {"outputs": {"p": "array<double>[2]"}}
    stack = {"combine": "stack", "inputs": ["p"], "outputs": {"features": "array<double>[2]"}}
    assert problems(tmp_path, {"a": node, "stack": stack}) == []
