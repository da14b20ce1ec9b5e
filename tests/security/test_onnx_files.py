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

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
)
from beam_ensembles.handlers.onnx.emptiness import Emptiness, find_emptiness
from beam_ensembles.handlers.onnx.graph import read_signature
from beam_ensembles.handlers.onnx.operators import foreign_operators
from beam_ensembles.handlers.onnx.session import session_options
from beam_ensembles.handlers.onnx.trees import check_trees
from beam_ensembles.handlers.onnx.weights import weight_files
from beam_ensembles.registry import KINDS
from tests.support.fuzzing import EXAMPLES, Target, fuzz, mutated, target
from tests.support.models import iris, write_graph
from tests.support.nodes import check_node, load_node, problems_of

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
        "com.microsoft.AttnLSTM",  # ends the process
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


@pytest.mark.parametrize("location", ["*/_ORT_MEM_ADDR_/*", "*/_ORT_NATIVE_ENDIAN_MEM_ADDR_/*", "*/w.bin"])
def test_weights_are_not_read_from_an_address_in_memory(tmp_path: Path, location: str) -> None:
    path, model = graph_of(tmp_path)
    weight = TensorProto(name="w", data_location=TensorProto.EXTERNAL, data_type=1, dims=[1, 64])
    for key, value in (("location", location), ("offset", "94000000000000"), ("length", "256")):
        weight.external_data.add(key=key, value=value)
    model.graph.initializer.append(weight)
    path.write_bytes(model.SerializeToString())
    assert problems_of(tmp_path, INPUTS, NODE, trust=False) == [("bad_model_file", "uri")]
    with pytest.raises(ModelFormatError, match="stands for an address in memory"):
        weight_files(str(path))


SCALES: Final = {
    "zero": np.zeros(1, np.int64),
    "one": np.ones(1, np.int64),
    "scale": np.array(1, np.float32),
    "point": np.array(0, np.uint8),
    "floats": np.zeros(12, np.float32),
}
NOTHING: Final = helper.make_node("Slice", ["X", "zero", "zero", "one"], ["E"])
"""Takes no column of the input: ``[N, 0]``."""
SCALED: Final = ["scale", "point"]


def quantized(op: str, inputs: list[str], *, domain: str = "", **attributes: Any) -> list[Any]:
    """Returns nodes that quantize ``E`` to ``Q``, and give ``Y`` by an operator of whole numbers."""
    return [
        helper.make_node("QuantizeLinear", ["E", *SCALED], ["Q"]),
        helper.make_node(op, inputs, ["W"], domain=domain, **attributes),
        helper.make_node("Cast", ["W"], ["Y"], to=1),
    ]


def dequantized(op: str) -> list[Any]:
    """Returns nodes that give ``Y`` by a product of dequantized numbers, which onnxruntime replaces."""
    return [
        helper.make_node("QuantizeLinear", ["E", *SCALED], ["Q"]),
        helper.make_node("DequantizeLinear", ["Q", *SCALED], ["D"]),
        helper.make_node("DequantizeLinear", ["B", *SCALED], ["F"]),
        helper.make_node(op, ["D", "F"], ["Y"]),
    ]


PRODUCTS: Final[dict[str, list[Any]]] = {
    "MatMulInteger": quantized("MatMulInteger", ["Q", "B"]),
    "QLinearMatMul": quantized("QLinearMatMul", ["Q", *SCALED, "B", *SCALED, *SCALED]),
    "MatMulIntegerToFloat": quantized(
        "MatMulIntegerToFloat", ["Q", "B", "scale", "scale"], domain="com.microsoft"
    ),
    "DynamicQuantizeMatMul": quantized("DynamicQuantizeMatMul", ["E", "B", "scale"], domain="com.microsoft"),
    "QGemm": quantized("QGemm", ["Q", *SCALED, "B", *SCALED, "", "", ""], domain="com.microsoft"),
    "MatMul": dequantized("MatMul"),
    "Gemm": dequantized("Gemm"),
}


def model_of(nodes: list[Any], weights: dict[str, Any], functions: list[Any] = []) -> Any:  # noqa: B006 - read only
    """Returns a model of an input ``X``, ``[N, 1]``, and an output ``Y``."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", 1])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, ["N", None])],
        [numpy_helper.from_array(values, name) for name, values in {**SCALES, **weights}.items()],
    )
    domains = [
        helper.make_opsetid(*one)
        for one in (("", 17), ("com.microsoft", 1), ("ai.onnx.ml", 3), *([("own", 1)] if functions else []))
    ]
    return helper.make_model(graph, opset_imports=domains, functions=functions, ir_version=9)


def load_untrusted(model: Any, folder: Path, **more: Any) -> Any:
    """Loads a model as a worker does that does not trust it."""
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    node = {**NODE, "outputs": {"y": {"from": "Y", "type": "array<float>"}}, **more}
    checked = check_node(folder, {"x": "array<float>[1]"}, node, trust=False)
    return KINDS["model", "onnx"].load(checked)


OFF: Final = {"config": {"session_options": {"enable_cpu_mem_arena": False}}}


@pytest.mark.parametrize("name", PRODUCTS)
def test_no_answer_is_memory_that_nobody_has_written(tmp_path: Path, name: str) -> None:
    model = model_of([NOTHING, *PRODUCTS[name]], {"B": np.zeros((0, 256), np.uint8)})
    if name in ("MatMul", "Gemm"):
        member = load_untrusted(model, tmp_path, **OFF)
        heap = [np.full(2_000, 7.0) for _ in range(200)]  # what the answer would hold, once it is given back
        del heap
        for _ in range(5):
            assert not np.asarray(list(member({"x": np.ones((4, 1), np.float32)})["y"])).any()
    else:
        text = f"parts of the worker's memory for an empty tensor.*{name}"
        with pytest.raises(InvalidEnsemble, match=text) as refusal:
            load_untrusted(model, tmp_path, **OFF)
        assert refusal.value.problems[0].code == "untrusted_file"


def test_quantized_models_that_people_have_need_no_trust(tmp_path: Path) -> None:
    for name, nodes in PRODUCTS.items():
        used = [helper.make_node("Identity", ["X"], ["E"]), *nodes]
        model = model_of(used, {"B": np.full((1, 4), 2, np.uint8)})
        (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
        found = find_emptiness(str(tmp_path / "model.onnx"))
        assert found == Emptiness(is_guarded=True), name
        member = load_untrusted(model, tmp_path)
        assert (
            np.asarray(list(member({"x": np.full((3, 1), 3, np.float32)})["y"])).tolist() == [[6.0] * 4] * 3
        )


def _as_the_weights_of_a_branch(nodes: list[Any]) -> Any:
    branch = helper.make_graph(nodes, "branch", [], [helper.make_tensor_value_info("Y", 1, None)])
    return model_of(
        [NOTHING, helper.make_node("If", ["yes"], ["Y"], then_branch=branch, else_branch=branch)],
        {"yes": np.array(True), "B": np.zeros((0, 4), np.uint8)},
    )


def _as_what_a_function_is_given(nodes: list[Any]) -> Any:
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    function = helper.make_function("own", "call", ["E", "B", *SCALED], ["Y"], nodes, sets)
    call = helper.make_node("call", ["E", "B", *SCALED], ["Y"], domain="own")
    return model_of([NOTHING, call], {"B": np.zeros((0, 4), np.uint8)}, [function])


def _under_the_name_of_a_weight(nodes: list[Any]) -> Any:
    """Returns a model whose branch has an empty tensor of the name of a weight around it."""
    made = helper.make_node("Slice", ["A", "zero", "zero", "zero"], ["B"])
    branch = helper.make_graph([made, *nodes], "branch", [], [helper.make_tensor_value_info("Y", 1, None)])
    return model_of(
        [NOTHING, helper.make_node("If", ["yes"], ["Y"], then_branch=branch, else_branch=branch)],
        {"yes": np.array(True), "B": np.zeros((1, 4), np.uint8), "A": np.zeros((1, 4), np.uint8)},
    )


@pytest.mark.parametrize("name", ["MatMulInteger", "QGemm"])
@pytest.mark.parametrize(
    "put", [_as_the_weights_of_a_branch, _as_what_a_function_is_given, _under_the_name_of_a_weight]
)
def test_products_of_nothing_are_found_wherever_they_are(tmp_path: Path, put: Any, name: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(put(PRODUCTS[name]).SerializeToString())
    assert find_emptiness(str(path)).leaking == (name,)


@pytest.mark.parametrize(
    ("op", "inputs", "domain"),
    [
        ("ConvInteger", ["I", "B"], ""),
        ("QLinearConv", ["I", *SCALED, "B", *SCALED, *SCALED], ""),
        ("QAttention", ["I", "B", "floats", "scale", "scale"], "com.microsoft"),
    ],
)
def test_other_products_of_nothing_are_found(tmp_path: Path, op: str, inputs: list[str], domain: str) -> None:
    made = helper.make_node("ConstantOfShape", ["shape"], ["I"])
    weights = {"shape": np.array([1, 0, 4, 4], np.int64), "B": np.zeros((2, 0, 1, 1), np.uint8)}
    path = tmp_path / "model.onnx"
    path.write_bytes(
        model_of([made, helper.make_node(op, inputs, ["Y"], domain=domain)], weights).SerializeToString()
    )
    assert find_emptiness(str(path)).leaking == (op,)


def recurrent(op: str, gates: int, sliced: bool) -> Any:
    """Returns a model with a GRU or LSTM over the columns of its input, or over no steps."""
    steps = ["X", "zero", "zero", "one"] if sliced else ["X"]
    nodes = [
        helper.make_node("Slice" if sliced else "Identity", steps, ["T"]),
        helper.make_node("Unsqueeze", ["T", "two"], ["U"]),
        helper.make_node("Transpose", ["U"], ["S"], perm=[1, 0, 2]),
        helper.make_node(op, ["S", "W", "R"], ["", "H"], hidden_size=4),
        helper.make_node("Squeeze", ["H", "zero"], ["Y"]),
    ]
    weights = {
        "two": np.array([2], np.int64),
        "W": np.ones((1, gates * 4, 1), np.float32),
        "R": np.ones((1, gates * 4, 4), np.float32),
    }
    model = model_of(nodes, weights)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "steps"
    return model


def run_recurrent(sent: tuple[bytes, list[list[float]]]) -> Any:
    """Loads a model on a worker that does not trust it, and gives it rows."""
    data, rows = sent
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.onnx").write_bytes(data)
        node = {**NODE, "outputs": {"y": {"from": "Y", "type": "array<float>[4]"}}}
        checked = check_node(Path(folder), {"x": "array<float>"}, node, trust=False)
        member = KINDS["model", "onnx"].load(checked)
    column = np.empty(len(rows), object)
    column[:] = [np.array(row, np.float32) for row in rows]
    return np.asarray(member({"x": column})["y"].tolist()).shape


@pytest.fixture(scope="module")
def scorer() -> Iterator[Target]:
    with target(f"{__name__}:run_recurrent", most_bytes=3 << 30) as found:
        yield found


@pytest.mark.parametrize(("op", "gates"), [("GRU", 3), ("LSTM", 4)])
def test_neither_rows_nor_models_without_steps_end_the_worker(scorer: Target, op: str, gates: int) -> None:
    whole, sliced = (recurrent(op, gates, without).SerializeToString() for without in (False, True))
    answered = scorer.attack((whole, [[1.0], [1.0, 2.0]]))
    assert (answered.kind, answered.value) == ("answered", (2, 4))
    empty = scorer.attack((whole, [[], [1.0, 2.0]]))
    assert empty.kind == "raised", empty
    assert "input 'X' is empty" in str(empty.value)
    refused = scorer.attack((sliced, [[1.0], [1.0, 2.0]]))
    assert refused.kind == "raised", refused
    assert "would end the worker for an empty tensor" in str(refused.value)
    assert "isolate: process" in str(refused.value)


def test_a_model_that_may_end_its_own_process_may_be_run_there(tmp_path: Path) -> None:
    more = {"isolate": "process", "outputs": {"y": {"from": "Y", "type": "array<float>[4]"}}}
    member = load_untrusted(recurrent("GRU", 3, sliced=True), tmp_path, **more)
    assert callable(member)


def test_layers_of_recurrent_models_of_any_length_need_no_trust(tmp_path: Path) -> None:
    """As PyTorch exports two layers: batch first, with states of zeros of the batch's size."""
    model = recurrent("GRU", 3, sliced=False)
    first, second = model.graph.node[3], model.graph.node[4]
    first.output[:] = ["G", ""]
    model.graph.node.insert(3, helper.make_node("Expand", ["scale", "shape"], ["H0"]))
    model.graph.node[4].input.extend(["", "", "H0"])
    model.graph.node.insert(5, helper.make_node("Squeeze", ["G", "one"], ["G1"]))
    model.graph.node.insert(6, helper.make_node("GRU", ["G1", "R", "R"], ["", "H"], hidden_size=4))
    assert second.op_type == "Squeeze"
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    assert find_emptiness(str(tmp_path / "model.onnx")) == Emptiness(is_guarded=True)


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


@pytest.mark.parametrize("how", ["referred", "twice"])
def test_a_loop_cannot_hide_in_a_functions_attributes(tmp_path: Path, how: str) -> None:
    model = onnx.load_from_string(models()["boosted"])
    node = next(node for node in model.graph.node if node.op_type.startswith("TreeEnsemble"))
    if how == "twice":
        copy = onnx.AttributeProto.FromString(
            next(one for one in node.attribute if one.name == "nodes_truenodeids").SerializeToString()
        )
        _loop(model)
        node.attribute.append(copy)
    else:
        _loop(model)
        inner = helper.make_node(node.op_type, ["X"], ["out"], domain=node.domain)
        for one in node.attribute:
            inner.attribute.add(name=one.name, ref_attr_name=one.name, type=one.type)
        sets, names = list(model.opset_import), [one.name for one in node.attribute]
        model.functions.append(helper.make_function("own", "call", ["X"], ["out"], [inner], sets, names))
        node.op_type, node.domain = "call", "own"
        model.opset_import.append(helper.make_opsetid("own", 1))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelFormatError, match="takes them from a function's attributes"):
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
        find_emptiness(path)
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
