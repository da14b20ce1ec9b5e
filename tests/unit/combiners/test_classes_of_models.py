"""The classes that models know themselves: votes and averages never mix them up, whichever framework says them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import numpy as np
import pytest
import skops.io
from apache_beam.testing.test_pipeline import TestPipeline as Pipeline
from apache_beam.testing.util import assert_that
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from beam_ensembles import RunEnsemble
from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.columns.rows import ObjectRows
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.execution.stage_processes import StageProcesses
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.processes.cores import Cores
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.runtime.row_source import RowSource
from tests.support.turned import TURNED, Turned

X, Y = load_iris().data, load_iris().target
NAMES = np.array(["setosa", "versicolor", "virginica"])
THREE = "array<double>[3]"

Save = Callable[[Path, Any], dict[str, Any]]


def as_joblib(folder: Path, y: Any) -> dict[str, Any]:
    joblib.dump(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), folder / "a.joblib")
    return {"model": "sklearn", "uri": "a.joblib", "method": "predict_proba", "inputs": ["x"]}


def as_skops(folder: Path, y: Any) -> dict[str, Any]:
    skops.io.dump(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), folder / "a.skops")
    return {"model": "sklearn", "uri": "a.skops", "method": "predict_proba", "inputs": ["x"]}


def onnx(folder: Path, model: Any, **options: Any) -> dict[str, Any]:
    made = to_onnx(model, X[:1].astype(np.float32), options={id(model): options})
    (folder / "a.onnx").write_bytes(made.SerializeToString())
    port = next(
        one.name for one in made.graph.output if one.name.startswith(("probabilities", "output_prob"))
    )
    return {"model": "onnx", "uri": "a.onnx", "inputs": ["x"], "port": port}


def as_zipmap(folder: Path, y: Any) -> dict[str, Any]:
    return onnx(folder, LogisticRegression(max_iter=500).fit(X, y))


def as_classifier(folder: Path, y: Any) -> dict[str, Any]:
    return onnx(folder, DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), zipmap=False)


def as_constant(folder: Path, y: Any) -> dict[str, Any]:
    return onnx(folder, GaussianNB().fit(X, y), zipmap=False)


TEXTS: Mapping[str, Save] = {
    "joblib": as_joblib,
    "skops": as_skops,
    "zipmap": as_zipmap,
    "onnx classifier": as_classifier,
    "onnx constant": as_constant,
}


def proba(node: Mapping[str, Any], column: str = "p") -> dict[str, Any]:
    node = dict(node)
    port = {"from": node.pop("port")} if "port" in node else {}
    return {
        **node,
        "outputs": {column: {"type": THREE.replace("double", "float") if port else THREE, **port}},
    }


def written(folder: Path, nodes: Mapping[str, Any], outputs: list[str] | None = None) -> Path:
    ensemble = {"ensemble": "classes", "inputs": {"x": "array<double>[4]"}, "nodes": nodes}
    file = folder / "ensemble.json"
    file.write_text(json.dumps({**ensemble, **({"outputs": outputs} if outputs else {})}))
    return file


def scored(folder: Path, nodes: Mapping[str, Any], column: str) -> list[Any]:
    """Loads and runs an ensemble as RunInference does."""
    handler = EnsembleModelHandler(written(folder, nodes))
    rows = [beam.Row(x=row.tolist()) for row in X]
    found = [one.inference for one in handler.run_inference(rows, handler.load_model())]
    return [getattr(row, column) for row in found]


def problems(folder: Path, nodes: Mapping[str, Any], *, load: bool = False) -> list[tuple[str, str]]:
    """Returns code and path of what is wrong with an ensemble, before it runs or when its models are loaded."""
    try:
        if load:
            EnsembleModelHandler(written(folder, nodes)).load_model()
        else:
            check_text(written(folder, nodes).read_text(), KINDS, Files(str(folder), (str(folder),)))
    except InvalidEnsemble as exc:
        return [(problem.code, problem.path) for problem in exc.problems]
    return []


def vote(*members: str, **more: Any) -> dict[str, Any]:
    return {
        "combine": "soft_vote",
        "inputs": list(members),
        "outputs": {"species": {"from": "label"}},
        **more,
    }


@pytest.mark.parametrize("save", TEXTS.values(), ids=TEXTS.keys())
def test_texts_that_a_model_knows_are_put_into_the_order_of_the_vote(tmp_path: Path, save: Save) -> None:
    node = save(tmp_path, NAMES[Y])
    found = scored(tmp_path, {"a": proba(node), "vote": vote("p", labels=TURNED)}, "species")
    assert np.mean(np.array(found) == NAMES[Y]) > 0.9


@pytest.mark.parametrize("save", TEXTS.values(), ids=TEXTS.keys())
def test_other_texts_than_the_votes_are_a_mismatch(tmp_path: Path, save: Save) -> None:
    node = save(tmp_path, NAMES[Y])
    nodes = {"a": proba(node), "vote": vote("p", labels=["setosa", "versicolor", "lily"])}
    wanted = [("label_mismatch", "nodes.vote.inputs[0]")]
    assert problems(tmp_path, nodes, load=True) == wanted
    assert problems(tmp_path, nodes) == ([] if save is as_joblib else wanted)


@pytest.mark.parametrize("save", TEXTS.values(), ids=TEXTS.keys())
def test_numbers_that_a_model_counts_from_0_may_have_any_names(tmp_path: Path, save: Save) -> None:
    nodes = {"a": proba(save(tmp_path, Y)), "vote": vote("p", labels=NAMES.tolist())}
    assert np.mean(np.array(scored(tmp_path, nodes, "species")) == NAMES[Y]) > 0.9


@pytest.mark.parametrize("save", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("labels", [None, [3, 5, 9], [9, 3, 5]], ids=["none", "sorted", "turned"])
def test_numbers_of_ones_own_are_the_votes_labels(
    tmp_path: Path, save: Save, labels: list[int] | None
) -> None:
    y = np.array([3, 5, 9])[Y]
    nodes = {"a": proba(save(tmp_path, y)), "vote": vote("p", **({"labels": labels} if labels else {}))}
    assert np.mean(np.array(scored(tmp_path, nodes, "species")) == y) > 0.9


def test_numbers_counted_from_0_are_turned_where_the_vote_turns_them(tmp_path: Path) -> None:
    nodes = {"a": proba(as_joblib(tmp_path, Y)), "vote": vote("p", labels=[2, 0, 1])}
    assert np.mean(np.array(scored(tmp_path, nodes, "species")) == Y) > 0.9


def test_other_numbers_are_a_mismatch(tmp_path: Path) -> None:
    nodes = {"a": proba(as_joblib(tmp_path, Y + 1)), "vote": vote("p", labels=[3, 5, 9])}
    assert problems(tmp_path, nodes, load=True) == [("label_mismatch", "nodes.vote.inputs[0]")]


@pytest.fixture
def two(tmp_path: Path) -> dict[str, Any]:
    """Two members that know the same classes in different orders."""
    sorted_one = as_joblib(tmp_path, NAMES[Y])
    joblib.dump(Turned().fit(X, NAMES[Y]), tmp_path / "b.joblib")
    turned = {"model": "sklearn", "uri": "b.joblib", "method": "predict_proba", "inputs": ["x"]}
    return {"a": proba(sorted_one, "pa"), "b": proba(turned, "pb")}


def test_members_of_different_orders_are_put_into_one(tmp_path: Path, two: dict[str, Any]) -> None:
    found = scored(tmp_path, {**two, "vote": vote("pa", "pb", labels=NAMES.tolist())}, "species")
    assert np.mean(np.array(found) == NAMES[Y]) > 0.9


@pytest.mark.usefixtures("forked_children")
@pytest.mark.parametrize("where", [{"isolate": "process"}, {"config": {"large_model": True}}])
def test_so_they_are_where_models_run_in_other_processes(
    tmp_path: Path, two: dict[str, Any], where: dict[str, Any]
) -> None:
    nodes = {"a": two["a"], "b": {**two["b"], **where}, "vote": vote("pa", "pb", labels=NAMES.tolist())}
    assert np.mean(np.array(scored(tmp_path, nodes, "species")) == NAMES[Y]) > 0.9


@pytest.mark.parametrize(
    "nodes",
    [
        {"n": {"combine": "mean", "inputs": ["pa", "pb"], "outputs": {"m": None}}},
        {"n": {"combine": "max", "inputs": ["pa", "pb"], "outputs": {"m": {"from": "max"}}}},
        {"n": {"combine": "median", "inputs": ["pb", "pa"], "outputs": {"m": {"from": "median"}}}},
        {
            "ia": {"apply": "argmax", "inputs": ["pa"], "outputs": {"ia": None}},
            "ib": {"apply": "argmax", "inputs": ["pb"], "outputs": {"ib": None}},
            "n": {"combine": "agree", "inputs": ["ia", "ib"], "outputs": {"unanimous": None}},
        },
        {
            "ia": {"apply": "argmax", "inputs": ["pa"], "outputs": {"ia": None}},
            "ib": {"apply": "argmax", "inputs": ["pb"], "outputs": {"ib": None}},
            "n": {"combine": "hard_vote", "inputs": ["ia", "ib"], "outputs": {"label": None}},
        },
    ],
    ids=["mean", "max", "median", "agree", "hard_vote"],
)
def test_what_goes_by_position_needs_one_order(
    tmp_path: Path, two: dict[str, Any], nodes: dict[str, Any]
) -> None:
    found = problems(tmp_path, two | nodes, load=True)
    assert found == [("label_mismatch", "nodes.n.inputs[1]")]


def test_names_of_positions_are_the_models_classes_in_their_order(
    tmp_path: Path, two: dict[str, Any]
) -> None:
    def named(labels: list[str]) -> dict[str, Any]:
        at = {"apply": "argmax", "inputs": ["pb"], "outputs": {"at": {"from": "index"}}}
        names = {
            "apply": "labels",
            "labels": labels,
            "inputs": ["at"],
            "outputs": {"name": {"from": "labels"}},
        }
        return {**two, "at": at, "names": names}

    assert problems(tmp_path, named(NAMES.tolist()), load=True) == [("label_mismatch", "nodes.names.labels")]
    assert np.mean(np.array(scored(tmp_path, named(TURNED), "name")) == NAMES[Y]) > 0.9
    assert problems(tmp_path, named(["one", "two", "three"]), load=True) == []


def test_labels_of_models_that_do_not_go_together(tmp_path: Path) -> None:
    """Numbers of which one model counts from 0 and the other one from 1 would never be the same species."""
    nodes = {}
    for name, y in (("a", Y), ("b", Y + 1)):
        joblib.dump(GaussianNB().fit(X, y), tmp_path / f"{name}.joblib")
        nodes[name] = {
            "model": "sklearn",
            "uri": f"{name}.joblib",
            "inputs": ["x"],
            "outputs": {name: "int64"},
        }
    nodes["n"] = {"combine": "hard_vote", "inputs": ["a", "b"], "outputs": {"label": None}}
    assert problems(tmp_path, nodes, load=True) == [("label_mismatch", "nodes.n.inputs[1]")]


@pytest.mark.parametrize("save", TEXTS.values(), ids=TEXTS.keys())
def test_labels_of_a_node_that_contradict_the_model_name_both(tmp_path: Path, save: Save) -> None:
    node = {**proba(save(tmp_path, NAMES[Y])), "labels": TURNED}
    with pytest.raises(InvalidEnsemble) as caught:
        EnsembleModelHandler(written(tmp_path, {"a": node})).load_model()
    assert [(one.code, one.path) for one in caught.value.problems] == [
        ("signature_mismatch", "nodes.a.labels")
    ]
    text = str(caught.value)
    assert "virginica, versicolor, setosa" in text
    assert "setosa, versicolor, virginica" in text


@pytest.mark.parametrize("save", TEXTS.values(), ids=TEXTS.keys())
def test_labels_of_a_node_that_name_the_models_numbers(tmp_path: Path, save: Save) -> None:
    nodes = {"a": {**proba(save(tmp_path, Y)), "labels": NAMES.tolist()}, "vote": vote("p", labels=TURNED)}
    assert np.mean(np.array(scored(tmp_path, nodes, "species")) == NAMES[Y]) > 0.9


def check_through_stages(folder: Path, nodes: Mapping[str, Any], column: str) -> None:
    rows = [beam.Row(x=row.tolist(), key=at) for at, row in enumerate(X)]
    want = NAMES[Y].tolist()

    def is_right(given: list[Any]) -> None:
        found = [getattr(row, column) for row in sorted(given, key=lambda row: row.key)]
        assert np.mean(np.array(found) == np.array(want)) > 0.9

    with Pipeline() as p:
        assert_that(p | beam.Create(rows) | RunEnsemble(written(folder, nodes)), is_right)


@pytest.mark.parametrize(
    "apart", [{"stage": "own"}, {"batch": {"min": 60, "max": 60}}, {"when": "x[1] > 0.0"}]
)
def test_so_they_are_where_models_run_in_other_stages(
    tmp_path: Path, two: dict[str, Any], apart: dict[str, Any]
) -> None:
    nodes = {"a": two["a"], "b": {**two["b"], **apart}}
    nodes |= {"vote": {**vote("pb", "pa", labels=["versicolor", "setosa", "virginica"]), "stage": "own"}}
    if "when" in apart:
        nodes["vote"]["quorum"] = 1
    check_through_stages(tmp_path, nodes, "species")


def test_a_mismatch_of_models_in_other_stages_stops_the_pipeline(tmp_path: Path, two: dict[str, Any]) -> None:
    nodes = {
        "a": {**two["a"], "stage": "own"},
        "vote": {**vote("pa", labels=["a", "b", "c"]), "stage": "own"},
    }
    with pytest.raises(Exception, match="label_mismatch"):
        check_through_stages(tmp_path, nodes, "species")


@pytest.mark.usefixtures("forked_children")
def test_so_they_are_in_processes_of_a_stage(tmp_path: Path, two: dict[str, Any]) -> None:
    graph = graph_of_file(written(tmp_path, {**two, "vote": vote("pa", "pb", labels=TURNED)}))
    form = ObjectRows((), ("species",))
    code = StageCode("classes", graph.nodes, (("x", "x", graph.columns_read[0][1]),), graph.outputs, form)
    stage = StageProcesses(code, 2, Cores(2)).wait()
    columns = RowSource(RowBatch([beam.Row(x=row.tolist()) for row in X])).read(code)
    stage.run(columns)
    assert np.mean(columns.columns["species"] == NAMES[Y]) > 0.9
    assert columns.meanings["species"].classes == tuple(TURNED)
