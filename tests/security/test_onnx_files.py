"""Untrusted ONNX models: foreign operators, files elsewhere, trees with loops, and false fields."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.handlers.onnx.graph import read_signature
from beam_ensembles.handlers.onnx.operators import foreign_operators
from beam_ensembles.handlers.onnx.session import session_options
from beam_ensembles.handlers.onnx.trees import check_trees
from beam_ensembles.handlers.onnx.weights import weight_files
from beam_ensembles.handlers.signatures import ModelFormatError
from tests.support.fuzzing import EXAMPLES, Target, fuzz, mutated, target
from tests.support.models import iris, write_graph
from tests.support.nodes import load_node, problems_of

INPUTS: Final = {"x": "array<float>[2]"}
NODE: Final[dict[str, Any]] = {
    "model": "onnx", "uri": "model.onnx", "inputs": ["x"], "outputs": {"y": "array<float>[2]"}
}  # fmt: skip


def graph_of(folder: Path) -> tuple[Path, Any]:
    """Writes a graph that gives twice its input."""
    path = write_graph(
        folder / "model.onnx",
        [("Add", ["X", "X"], ["Y"], {})],
        [("X", "FLOAT", ["N", 2])],
        [("Y", "FLOAT", ["N", 2])],
    )
    return path, onnx.load(path)


def _as_a_node(model: Any, foreign: Any) -> None:
    model.graph.node.append(foreign)


def _in_a_branch(model: Any, foreign: Any) -> None:
    branch = helper.make_graph([foreign], "branch", [], [helper.make_tensor_value_info("out", 1, None)])
    model.graph.node.append(helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch))


def _in_a_function(model: Any, foreign: Any) -> None:
    model.functions.append(
        helper.make_function("own", "call", ["X"], ["out"], [foreign], [helper.make_opsetid("", 17)])
    )
    model.graph.node.append(helper.make_node("call", ["X"], ["z"], domain="own"))


def _in_a_list_of_graphs(model: Any, foreign: Any) -> None:
    inner = helper.make_graph([foreign], "inner", [], [])
    model.graph.node.append(helper.make_node("Add", ["X", "X"], ["z"], graphs=[inner]))


def _in_training(model: Any, foreign: Any) -> None:
    model.training_info.add().algorithm.node.append(foreign)


def _under_the_name_of_a_function(model: Any, foreign: Any) -> None:
    own = helper.make_node("Identity", ["X"], ["out"])
    model.functions.append(
        helper.make_function(
            foreign.domain, foreign.op_type, ["X"], ["out"], [own], [helper.make_opsetid("", 17)]
        )
    )
    model.graph.node.append(foreign)


PLACES: Final = [_as_a_node, _in_a_branch, _in_a_function, _in_a_list_of_graphs, _in_training]


@pytest.mark.parametrize(
    "name",
    [
        "com.microsoft.EPContext",
        "com.microsoft.PythonOp",
        "com.microsoft.WordConvEmbedding",  # gives bytes of the worker's memory
        "org.pytorch.aten.ATen",
        "a.b.C",
    ],
)
@pytest.mark.parametrize("put", PLACES)
def test_an_operator_that_may_do_more_than_compute_needs_trust(tmp_path: Path, put: Any, name: str) -> None:
    path, model = graph_of(tmp_path)
    domain, _, op = name.rpartition(".")
    put(model, helper.make_node(op, ["X"], ["out"], domain=domain, ep_cache_context="/etc/passwd"))
    path.write_bytes(model.SerializeToString())
    assert foreign_operators(str(path)) == (name,)
    assert problems_of(tmp_path, INPUTS, NODE, trust=False)[0] == ("untrusted_file", "uri")


def test_a_function_does_not_excuse_an_operator_of_its_name(tmp_path: Path) -> None:
    path, model = graph_of(tmp_path)
    _under_the_name_of_a_function(model, helper.make_node("EPContext", ["X"], ["z"], domain="com.microsoft"))
    path.write_bytes(model.SerializeToString())
    assert foreign_operators(str(path)) == ("com.microsoft.EPContext",)


def test_functions_of_the_model_and_operators_that_compute_need_none(tmp_path: Path) -> None:
    path, model = graph_of(tmp_path)
    _in_a_function(model, helper.make_node("Gelu", ["X"], ["out"], domain="com.microsoft"))
    model.graph.node.append(helper.make_node("Normalizer", ["X"], ["n"], domain="ai.onnx.ml", norm="MAX"))
    path.write_bytes(model.SerializeToString())
    assert foreign_operators(str(path)) == ()


@pytest.mark.parametrize("flag_first", [True, False])
def test_weights_elsewhere_are_found_in_messages_that_come_in_pieces(
    tmp_path: Path, flag_first: bool
) -> None:
    path, model = graph_of(tmp_path)
    flag = TensorProto(data_location=TensorProto.EXTERNAL, data_type=1, dims=[2])
    flag.external_data.add(key="location", value="beside.bin")
    lie = TensorProto()
    lie.external_data.add(key="location", value="../../etc/passwd")
    parts = [flag, lie] if flag_first else [lie, flag]
    attribute = onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR).SerializeToString()
    for part in parts:  # field 5 of the attribute, twice
        data = part.SerializeToString()
        attribute += b"\x2a" + bytes([len(data)]) + data
    node = (
        helper.make_node("Constant", [], ["c"]).SerializeToString()
        + b"\x2a"
        + bytes([len(attribute)])
        + attribute
    )
    graph = b"\x0a" + bytes([len(node)]) + node
    path.write_bytes(model.SerializeToString() + b"\x3a" + bytes([len(graph)]) + graph)
    merged = onnx.load(path, load_external_data=False).graph.node[-1].attribute[0].t
    assert merged.data_location == TensorProto.EXTERNAL
    with pytest.raises(ModelFormatError, match=r"'\.\./\.\./etc/passwd', which is outside of its folder"):
        weight_files(str(path))


def test_weights_are_not_read_through_a_link_out_of_the_folder(tmp_path: Path) -> None:
    folder, cache = tmp_path / "model", tmp_path / "cache"
    folder.mkdir()
    cache.mkdir()
    path, model = graph_of(folder)
    bias = numpy_helper.from_array(np.ones(2, np.float32), "bias")
    model.graph.initializer.append(bias)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert weight_files(str(path)) == ("weights.bin",)
    (folder / "weights.bin").rename(cache / "weights.bin")
    (folder / "weights.bin").symlink_to(cache / "weights.bin")
    with pytest.raises(ModelFormatError, match="a link to a place outside of its folder"):
        weight_files(str(path))
    path.rename(cache / "model.onnx")
    path.symlink_to(cache / "model.onnx")
    assert weight_files(str(path)) == ("weights.bin",)


@pytest.mark.parametrize(
    "config",
    [
        {"providers": ["AzureExecutionProvider", "CPUExecutionProvider"]},
        {"provider_options": [{"trt_extra_plugin_lib_paths": "/tmp/x.so"}]},
        {"provider_options": [{"backend_path": "/tmp/x.so"}]},
        {"session_options": {"enable_profiling": True}},
        {"session_options": {"optimized_model_filepath": "/tmp/x"}},
        {"session_options": {"register_custom_ops_library": "/tmp/x.so"}},
    ],
    ids=str,
)
def test_a_file_cannot_name_libraries_servers_or_files_to_write(tmp_path: Path, config: Any) -> None:
    graph_of(tmp_path)
    assert [code for code, _ in problems_of(tmp_path, INPUTS, {**NODE, "config": config})] == ["bad_value"]


def test_onnxruntime_takes_a_file_for_nothing_but_onnx() -> None:
    import onnxruntime

    options = session_options(onnxruntime, {})
    assert options.get_session_config_entry("session.load_model_format") == "ONNX"


def _loop(model: Any) -> None:
    node = next(node for node in model.graph.node if node.op_type.startswith("TreeEnsemble"))
    attributes = {attribute.name: attribute for attribute in node.attribute}
    attributes["nodes_truenodeids"].ints[0] = 0


@pytest.mark.parametrize("name", ["forest", "boosted"])
def test_a_tree_with_a_loop_is_refused_before_it_is_run(tmp_path: Path, name: str) -> None:
    model = onnx.load_from_string(models()[name])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    check_trees(str(path))
    _loop(model)
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelFormatError, match="a tree of the model has a loop"):
        check_trees(str(path))


def test_a_worker_does_not_load_such_a_file(tmp_path: Path) -> None:
    model = onnx.load_from_string(models()["boosted"])
    _loop(model)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    node = {**NODE, "outputs": {"y": {"from": "variable", "type": "array<float>[1]"}}}
    with pytest.raises(InvalidEnsemble, match="a tree of the model has a loop") as refusal:
        load_node(tmp_path, {"x": "array<float>[4]"}, node)
    assert refusal.value.problems[0].code == "bad_model_file"


@functools.cache
def models() -> dict[str, bytes]:
    """Small models of many operators, by name."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import StringTensorType
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import SVR

    flowers = iris()
    x = flowers.x.astype(np.float32)
    estimators = {
        "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
        "boosted": GradientBoostingRegressor(n_estimators=3),
        "vectors": SVR(),
        "lines": LogisticRegression(max_iter=500),
        "neighbours": KNeighborsClassifier(),
    }
    found = {
        name: to_onnx(model.fit(x[::5], flowers.y[::5]), x[:1], target_opset=17).SerializeToString()
        for name, model in estimators.items()
    }
    texts = TfidfVectorizer(ngram_range=(1, 2)).fit(["the cat sat", "on the cat", "dog"])
    words = OneHotEncoder(handle_unknown="ignore").fit([["a"], ["b"], ["c"]])
    for name, model, shape in (("texts", texts, [None]), ("words", words, [None, 1])):
        of = [("x", StringTensorType(shape))]
        found[name] = to_onnx(model, initial_types=of, target_opset=17).SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        found["add"] = graph_of(Path(folder))[0].read_bytes()
    return found


def attack(data: bytes) -> Any:
    """Reads a file as the service does, and loads and runs it as a worker does."""
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model.onnx"))
        Path(path).write_bytes(data)
        read_signature(path)
        if weight_files(path):
            return "weights"
        foreign_operators(path)
        check_trees(path)
        whole = onnx.load(path).SerializeToString()
    options = session_options(onnxruntime, {"intra_op_num_threads": 1, "log_severity_level": 4})
    session = onnxruntime.InferenceSession(whole, options, providers=["CPUExecutionProvider"])
    feeds = {one.name: _values(one) for one in session.get_inputs()}
    return [np.shape(answer) for answer in session.run(None, feeds)]


def _values(one: Any) -> Any:
    shape = [dim if isinstance(dim, int) and 0 <= dim < 100 else 3 for dim in one.shape]
    if "string" in one.type:
        return np.full(shape, "the cat", object)
    return np.full(
        shape, 1.5, {"tensor(double)": np.float64, "tensor(int64)": np.int64}.get(one.type, np.float32)
    )


@pytest.fixture(scope="module")
def worker() -> Iterator[Target]:
    with target(f"{__name__}:attack", most_bytes=3 << 30) as found:
        yield found


def survives(worker: Target, data: bytes) -> None:
    outcome = worker.attack(data)
    assert outcome.kind in ("answered", "raised"), outcome


_NAMES: Final = ["forest", "boosted", "vectors", "lines", "neighbours", "texts", "words", "add"]


@fuzz(st.sampled_from(_NAMES).flatmap(lambda name: mutated(models()[name])), examples=EXAMPLES // 3)
def test_mutated_bytes_never_end_the_process(worker: Target, data: bytes) -> None:
    survives(worker, data)


_LIES: Final = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 1000, 2**31 - 1, 2**31, 2**40, 2**62]


@st.composite
def lying(draw: st.DrawFn) -> bytes:
    """Draws a model whose attributes, shapes and weights say something else."""
    model = onnx.load_from_string(models()[draw(st.sampled_from(_NAMES))])
    for _ in range(draw(st.integers(1, 3))):
        if model.graph.initializer and draw(st.integers(0, 3)) == 0:
            _spoil_weights(draw, draw(st.sampled_from(list(model.graph.initializer))))
            continue
        attributes = list(draw(st.sampled_from(list(model.graph.node))).attribute)
        if attributes:
            _spoil(draw, draw(st.sampled_from(attributes)))
    data: bytes = model.SerializeToString()
    return data


def _spoil(draw: st.DrawFn, attribute: Any) -> None:
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = draw(st.sampled_from(_LIES))
    for name, values in (
        ("ints", st.one_of(st.sampled_from(_LIES), st.integers(-1, 40))),
        ("floats", st.floats(width=32)),
        ("strings", st.sampled_from([b"", b"LEAF", b"BRANCH_EQ", b"BRANCH_MODE", b"\xff"])),
    ):
        found = getattr(attribute, name)
        if not len(found):
            continue
        at, how = draw(st.integers(0, len(found) - 1)), draw(st.integers(0, 5))
        if how == 0:
            del found[at]
        elif how == 1:
            found.append(found[0])
        else:
            found[at] = draw(values)


def _spoil_weights(draw: st.DrawFn, tensor: Any) -> None:
    how = draw(st.integers(0, 2))
    if how == 0 and len(tensor.dims):
        tensor.dims[draw(st.integers(0, len(tensor.dims) - 1))] = draw(st.sampled_from(_LIES))
    elif how == 1:
        tensor.raw_data = draw(mutated(tensor.raw_data))
    else:
        tensor.data_type = draw(st.sampled_from([0, 1, 6, 7, 8, 9, 10, 11, 99]))


@fuzz(lying(), examples=EXAMPLES // 3)
def test_models_that_lie_never_end_the_process(worker: Target, data: bytes) -> None:
    survives(worker, data)
