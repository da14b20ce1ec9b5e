"""XGBoost models whose trees lie: refused with what is wrong before xgboost follows it out of its memory."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas
import pytest
import xgboost
from hypothesis import strategies as st

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
)
from beam_ensembles.handlers.xgboost.document import read_document
from beam_ensembles.handlers.xgboost.header import read_header
from beam_ensembles.handlers.xgboost.trees import TreeError, check_model
from tests.support.fuzzing import EXAMPLES, Target, fuzz, mutated, target
from tests.support.nodes import load_node

_RANDOM: Final = np.random.default_rng(0)
_X: Final = _RANDOM.random((200, 3))
_Y: Final = (_X[:, 0] > 0.5).astype(int) + (_X[:, 1] > 0.7)
_FRAME: Final = pandas.DataFrame(
    {"a": pandas.Categorical(list("wxyz") * 50), "b": _X[:, 0], "c": pandas.Categorical([1, 5, 9, 70] * 50)}
)


def _train(x: Any, y: Any, **params: Any) -> xgboost.Booster:
    data = xgboost.DMatrix(x, y, enable_categorical=True)
    return xgboost.train({"nthread": 1, "max_depth": 3, **params}, data, 3)


MODELS: Final = {
    name: {form: bytes(model.save_raw(form)) for form in ("json", "ubj")}
    for name, model in {
        "regression": _train(_X, _Y),
        "classes": _train(_X, _Y, objective="multi:softprob", num_class=3),
        "dart": _train(_X, _Y, booster="dart"),
        "linear": _train(_X, _Y, booster="gblinear"),
        "categories": _train(_FRAME, _Y, max_cat_to_onehot=2),
        "vectors": _train(_X, np.c_[_Y, _Y], multi_strategy="multi_output_tree", tree_method="hist"),
        "pruned": _train(_X, _Y, tree_method="exact", gamma=1.0),
        "none": xgboost.train({}, xgboost.DMatrix(_X, _Y), 0),
    }.items()
}


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_that_xgboost_wrote_passes(name: str, form: str) -> None:
    check_model(MODELS[name][form])


@pytest.mark.parametrize("name", list(MODELS))
def test_both_formats_are_read_as_the_same_document(name: str) -> None:
    found = [read_document(data) for data in MODELS[name].values()]
    assert _alike(*found)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return (
        bool(one == other) if isinstance(one, str) else math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    )


def trees(model: Any) -> list[Any]:
    """Returns the trees of a model; those of a linear one are none."""
    booster = model["learner"]["gradient_booster"]
    found: list[Any] = booster.get("gbtree", booster)["model"].get("trees", [])
    return found


def _in_tree(name: str, at: int, value: Any) -> Callable[[Any], None]:
    def spoil(model: Any) -> None:
        trees(model)[0][name][at] = value

    return spoil


def _inside(*path: str, value: Any) -> Callable[[Any], None]:
    def spoil(model: Any) -> None:
        for key in path[:-1]:
            model = model[key]
        model[path[-1]] = value

    return spoil


def _loop(model: Any) -> None:
    tree = trees(model)[0]
    child = tree["left_children"][0]
    tree["left_children"][child], tree["right_children"][child] = child, 2
    tree["parents"][child] = child


def _shared(model: Any) -> None:
    tree = trees(model)[0]
    tree["right_children"][0] = tree["left_children"][0]


def _shorter(name: str) -> Callable[[Any], None]:
    def spoil(model: Any) -> None:
        trees(model)[0][name].pop()

    return spoil


def _too_many_nodes(model: Any) -> None:
    trees(model)[0]["tree_param"]["num_nodes"] = "2147483647"


def _deep(model: Any) -> None:
    tree, count = trees(model)[0], 4001
    left = [at + 1 if at % 2 == 0 and at < count - 1 else -1 for at in range(count)]
    right = [at + 2 if at % 2 == 0 and at < count - 1 else -1 for at in range(count)]
    parents = [2147483647] + [(at - 1) // 2 * 2 for at in range(1, count)]
    tree.update(left_children=left, right_children=right, parents=parents)
    for name in ("split_indices", "default_left", "split_type"):
        tree[name] = [0] * count
    for name in ("split_conditions", "sum_hessian", "loss_changes", "base_weights"):
        tree[name] = [0.5] * count
    tree["tree_param"]["num_nodes"] = str(count)


_MODEL: Final = ("learner", "gradient_booster", "model")
_PARAMS: Final = ("learner", "learner_model_param")
LIES: Final[dict[str, tuple[str, Callable[[Any], None], str]]] = {
    "child out of range": ("regression", _in_tree("left_children", 0, 10**6), "a node's child is not a node"),
    "negative child": ("regression", _in_tree("right_children", 0, -5), "a node's child is not a node"),
    "child below int32": ("regression", _in_tree("right_children", 0, -(2**33)), "a node's child is not a node"),
    "no right child": ("regression", _in_tree("right_children", 0, -1), "a node's child is not a node"),
    "child that is the root": ("regression", _in_tree("left_children", 0, 0), "a node's child is not a node"),
    "loop": ("regression", _loop, "'parents' says otherwise"),
    "shared child": ("regression", _shared, "a node is the child of two nodes"),
    "root with a parent": ("regression", _in_tree("parents", 0, 3), "the root of a tree has a parent"),
    "leaf with a right child": ("regression", _in_tree("right_children", -1, 2), "a leaf has a right child"),
    "deep": ("regression", _deep, "a tree is more than 1000 levels deep"),
    "feature": ("regression", _in_tree("split_indices", 0, 2_000_000_000), "'split_indices' has a number outside of"),
    "feature that is a text": ("regression", _in_tree("split_indices", 0, "1"), "'split_indices' is not a list of"),
    "feature that is a fraction": ("regression", _in_tree("split_indices", 0, 0.5), "'split_indices' is not a list of"),
    "kind of split": ("regression", _in_tree("split_type", 0, 1), "'categories_nodes' says otherwise"),
    "unknown kind of split": ("regression", _in_tree("split_type", 0, 9), "'split_type' has a number outside of"),
    "fewer nodes": ("regression", _shorter("left_children"), "'left_children' of tree 0 has"),
    "fewer conditions": ("regression", _shorter("split_conditions"), "'split_conditions' of tree 0 has"),
    "fewer weights": ("regression", _shorter("base_weights"), "'base_weights' of tree 0 has"),
    "number of nodes": ("regression", _too_many_nodes, "'left_children' of tree 0 has .* expected 2147483647"),
    "order of trees": ("regression", lambda model: trees(model).reverse(), "not in the order of their 'id'"),
    "number of trees": ("regression", _inside(*_MODEL, "gbtree_model_param", "num_trees", value="9"), "'num_trees' is"),
    "parallel trees": (
        "regression", _inside(*_MODEL, "gbtree_model_param", "num_parallel_tree", value="0"), "'num_parallel_tree' is 0"
    ),
    "class of a tree": ("classes", _inside(*_MODEL, "tree_info", value=[0, 1, 7] * 3), "'tree_info' has a number"),
    "rounds": ("regression", _inside(*_MODEL, "iteration_indptr", value=[0, 9, 1, 3]), "'iteration_indptr' does not"),
    "features": ("regression", _inside(*_PARAMS, "num_feature", value="0"), "'split_indices' has a number outside of"),
    "classes": ("classes", _inside(*_PARAMS, "num_class", value="2000000000"), "the model gives 2000000000 values"),
    "classes of the objective": (
        "classes", _inside("learner", "objective", "softmax_multiclass_param", "num_class", value="0"),
        "'num_class' is 3 for the model and 0 for its objective",
    ),
    "base score that only Python reads": (
        "classes", _inside(*_PARAMS, "base_score", value="[1_0,1,1]"), "'base_score' is not a number"
    ),
    "digits of another script": (
        "classes", _inside(*_PARAMS, "num_class", value="\u0663"), "'num_class' is not a whole number"
    ),
    "base score": ("classes", _inside(*_PARAMS, "base_score", value="[1,2]"), "'base_score' has 2 numbers"),
    "feature names": ("regression", _inside("learner", "feature_names", value=["a"]), "'feature_names' has 1 texts"),
    "weights of dart": ("dart", _inside("learner", "gradient_booster", "weight_drop", value=[1.0]), "'weight_drop' is"),
    "weights of lines": ("linear", _inside(*_MODEL, "weights", value=[1.0]), "'weights' is, or has, 1, expected 4"),
    "category": ("categories", _in_tree("categories", 0, 2_000_000_000), "'categories' has a number outside of"),
    "sizes": ("categories", _in_tree("categories_sizes", 0, 2**40), "go beyond 'categories'"),
    "segments": ("categories", _in_tree("categories_segments", 0, -1), "go beyond 'categories'"),
    "nodes of categories": ("categories", _in_tree("categories_nodes", 0, 99), "'categories_nodes' says otherwise"),
    "order of categories": ("categories", _inside(*_MODEL, "cats", "sorted_idx", value=[9] * 8), "'sorted_idx' names"),
    "segments of features": (
        "categories", _inside(*_MODEL, "cats", "feature_segments", value=[0, 99, 4, 8]), "'feature_segments' does not"
    ),
    "size of leaves": (
        "vectors", lambda model: trees(model)[0]["tree_param"].update(size_leaf_vector="9"), "leaves of another size"
    ),
    "leaves": ("vectors", _shorter("leaf_weights"), "'leaf_weights' is, or has,"),
    "a leaf's weights": ("vectors", _in_tree("right_children", -1, 99), "'right_children' has a number outside of"),
    "booster": ("regression", _inside("learner", "gradient_booster", "name", value="x"), "none of gbtree, dart"),
}  # fmt: skip


@pytest.mark.parametrize("lie", list(LIES))
def test_a_model_that_contradicts_itself_is_refused(lie: str) -> None:
    name, spoil, said = LIES[lie]
    model = json.loads(MODELS[name]["json"])
    spoil(model)
    for data in (json.dumps(model).encode(), ubjson(model)):
        with pytest.raises(TreeError, match=said):
            check_model(data)


def test_a_key_that_stands_twice_is_refused() -> None:
    data = MODELS["regression"]["json"].replace(
        b'"left_children":', b'"left_children":[],"left_children":', 1
    )
    with pytest.raises(TreeError, match="has a key twice"):
        check_model(data)


def test_what_is_nested_too_deep_is_refused() -> None:
    for data in (b'{"a":' + b"[" * 100_000, ubjson({"a": 0})[:-3] + b"[#L\0\0\0\0\0\0\0\1" * 100_000):
        with pytest.raises(TreeError):
            check_model(data)


@pytest.mark.parametrize("name", ["leaf_weights", "loss_changes", "sum_hessian"])
def test_trees_of_vectors_have_all_lists_that_xgboost_reads(name: str) -> None:
    """XGBoost 3.2 follows the place of a key that is not there, which ends the process."""
    model = json.loads(MODELS["vectors"]["json"])
    del trees(model)[0][name]
    with pytest.raises(TreeError, match=f"tree 0 has no '{name}', which XGBoost .* needs"):
        check_model(json.dumps(model).encode())


@pytest.mark.parametrize("version", [b"[$l#L\0\0\0\0\0\0\0\3" + bytes(12), b"[#L\0\0\0\0\0\0\0\0", b"T"])
def test_a_version_that_xgboost_cannot_read_is_refused(version: bytes) -> None:
    """xgboost would write the whole file into its message, and end the process at an array of doubles in it."""
    data = MODELS["regression"]["ubj"]
    head, tail = (
        data[: data.rindex(b"L\0\0\0\0\0\0\0\7version")],
        b"L\0\0\0\0\0\0\0\7version" + version + b"}",
    )
    doubles = b"L\0\0\0\0\0\0\0\1x[$D#L\0\0\0\0\0\0\0\1" + bytes(8)
    with pytest.raises(TreeError, match="'version' is not a list of three whole numbers"):
        check_model(head + doubles + tail)


@pytest.mark.parametrize("form", ["json", "ubj"])
def test_a_worker_does_not_load_such_a_model(tmp_path: Path, form: str) -> None:
    model = json.loads(MODELS["regression"]["json"])
    trees(model)[0]["left_children"][0] = 10**6
    path = tmp_path / f"model.{form}"
    path.write_bytes(json.dumps(model).encode() if form == "json" else ubjson(model))
    with pytest.raises(InvalidEnsemble, match="a node's child is not a node") as refusal:
        load_node(
            tmp_path,
            {"x": "array<double>[3]"},
            {"model": "xgboost", "uri": path.name, "inputs": ["x"], "outputs": {"y": "float"}},
        )
    assert refusal.value.problems[0].code == "bad_model_file"


def ubjson(found: Any) -> bytes:
    """Writes a document as XGBoost does, without typed arrays."""
    if isinstance(found, dict):
        return b"{" + b"".join(_text(key) + ubjson(value) for key, value in found.items()) + b"}"
    if isinstance(found, list):
        return b"[#L" + struct.pack(">q", len(found)) + b"".join(map(ubjson, found))
    if isinstance(found, str):
        return b"S" + _text(found)
    return struct.pack(">cq", b"L", found) if isinstance(found, int) else struct.pack(">cd", b"D", found)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">cq", b"L", len(data)) + data


def attack(data: bytes) -> Any:
    """Reads the header as the service does, checks the file, loads it and predicts as a worker does."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        header = None
        with contextlib.suppress(ModelFormatError):
            header = read_header(file.name)
    check_model(data)
    booster = xgboost.Booster(params={"nthread": 1})
    booster.load_model(bytearray(data))
    features = booster.num_features()
    if features > 1000:
        return features
    rows = np.linspace(-1, 1, 4 * features, dtype=np.float32).reshape(4, features)
    rows[0] = np.nan
    matrix = xgboost.DMatrix(
        rows,
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
    )
    found = [booster.predict(matrix, iteration_range=span).shape for span in ((0, 0), (0, 1))]
    if booster.feature_types is None and header is not None and header.targets == 1:
        booster.predict(matrix, pred_contribs=True)
        booster.predict(matrix, pred_leaf=True)
    booster.save_config()
    booster.get_dump()
    return found


@pytest.fixture(scope="module")
def worker() -> Iterator[Target]:
    with target(f"{__name__}:attack", most_bytes=4 << 30) as found:
        yield found


def survives(worker: Target, data: bytes) -> None:
    outcome = worker.attack(data)
    assert outcome.kind in ("answered", "raised"), outcome
    if outcome.kind == "raised":
        assert outcome.value[0] in ("TreeError", "XGBoostError", "ValueError"), outcome.value


_FILES: Final = [data for model in MODELS.values() for data in model.values()]


@fuzz(st.sampled_from(_FILES).flatmap(mutated), examples=EXAMPLES // 3)
def test_mutated_bytes_never_end_the_process(worker: Target, data: bytes) -> None:
    survives(worker, data)


_LIES_OF_NUMBERS: Final = [
    -(2**63),
    -(2**31),
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    255,
    2**24,
    2**31 - 1,
    2**31,
    2**62,
    0.5,
    1e39,
]


@st.composite
def lying(draw: st.DrawFn) -> bytes:
    """Draws a model in which a few values, or lengths of arrays, are others: every second time within a tree.

    Those are what xgboost believes; of what stands outside of trees it checks most itself.
    """
    model = copy.deepcopy(json.loads(draw(st.sampled_from([one["json"] for one in MODELS.values()]))))
    within = trees(model)
    for _ in range(draw(st.integers(1, 3))):
        _spoil(draw, draw(st.sampled_from(within)) if within and draw(st.booleans()) else model)
    return json.dumps(model).encode() if draw(st.booleans()) else ubjson(model)


def _spoil(draw: st.DrawFn, node: Any) -> None:
    holder: Any = None
    key: Any = None
    while isinstance(node, dict | list) and len(node):
        holder, key = (
            node,
            draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node)))),
        )
        node = holder[key]
    if isinstance(holder, list) and draw(st.integers(0, 4)) == 0:
        del holder[key]
    elif isinstance(node, str):
        holder[key] = draw(st.one_of(st.sampled_from(list(map(str, _LIES_OF_NUMBERS))), st.text(max_size=3)))
    else:
        holder[key] = draw(
            st.one_of(st.sampled_from(_LIES_OF_NUMBERS), st.sampled_from([[], {}, "x", [0, 1]]))
        )


@fuzz(lying(), examples=EXAMPLES // 3)
def test_models_that_lie_never_end_the_process(worker: Target, data: bytes) -> None:
    survives(worker, data)


@pytest.mark.parametrize(
    "part",
    [
        b"objective{",
        b"L\0\0\0\0\0\0\0\x04nameSL\0\0\0\0\0\0\0\x0aa",
        b"objective{" + b"L\0\0\0\0\0\0\0\x04name",
    ],
)
def test_a_header_is_searched_in_linear_time(tmp_path: Path, part: bytes) -> None:
    path = tmp_path / "m.ubj"
    path.write_bytes(b"{" + b"learner_model_param" + part * ((1 << 20) // len(part)))
    start = time.process_time()
    with pytest.raises(ModelFormatError):
        read_header(str(path))
    assert time.process_time() - start < 5.0  # it took 30
