"""What ONNX graphs take and give: every type of number, texts, sequences and mappings, optional inputs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.onnx.graph import read_signature
from beam_ensembles.handlers.onnx.session import check_device, signature_of
from beam_ensembles.handlers.support.signatures import TENSORS, Port
from beam_ensembles.registry import KINDS
from beam_ensembles.types import Array, Scalar, dtype_of, parse_type
from tests.support.models import write_graph
from tests.support.nodes import check_node, load_node, problems_of, types_of

PAIR = {"x": "array<float>[2]"}
ELEMENTS = {
    "boolean": "BOOL",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "float16": "FLOAT16",
    "float": "FLOAT",
    "double": "DOUBLE",
}


def node(uri: str, **more: Any) -> dict[str, Any]:
    return {"model": "onnx", "uri": uri, "inputs": ["x"], "outputs": {"y": None}} | more


def echo(folder: Path, element: str) -> str:
    """Writes a graph that gives what it is given."""
    write_graph(
        folder / f"{element}.onnx",
        [("Identity", ["X"], ["Y"], {})],
        [("X", ELEMENTS[element], ["N", 2])],
        [("Y", ELEMENTS[element], ["N", 2])],
    )
    return f"{element}.onnx"


@pytest.mark.parametrize("element", ELEMENTS)
def test_every_type_of_number_goes_through_a_graph_as_it_is(tmp_path: Path, element: str) -> None:
    """Inside the graph of an ensemble: what another node gave may have types that no other language has."""
    declared = {"boolean": "boolean", "double": "double", "float": "float", "float16": "float"}
    portable = {"x": f"array<{declared.get(element, 'int64')}>[2]"}
    outputs = {"y": f"array<{declared.get(element, 'int64')}>[2]"}
    checked = check_node(tmp_path, portable, node(echo(tmp_path, element), outputs=outputs))
    type_ = Array(Scalar(element), (2,))
    exact = CheckedNode(checked.spec, checked.kind, {"x": type_}, {"y": type_}, checked.uri)
    x = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype_of(type_))
    np.testing.assert_array_equal(KINDS["model", "onnx"].load(exact)({"x": x})["y"], x, strict=True)


@pytest.mark.parametrize(
    ("element", "found", "good", "bad"),
    [
        ("uint8", "int64", 255, 256),
        ("int8", "int32", -128, -129),
        ("int32", "int64", 2**31 - 1, 2**31),
        ("uint64", "int64", 2**62, -1),
        ("float16", "double", 65504, 70000),
    ],
)
def test_numbers_that_other_languages_have_become_smaller_where_they_fit(
    tmp_path: Path, element: str, found: str, good: int, bad: int
) -> None:
    y = "float" if element == "float16" else "int64"
    member = load_node(
        tmp_path,
        {"x": f"array<{found}>[2]"},
        node(echo(tmp_path, element), outputs={"y": f"array<{y}>[2]"}),
    )
    dtype = dtype_of(parse_type(found))
    assert member({"x": np.array([[0, good]], dtype)})["y"].tolist() == [[0, good]]
    with pytest.raises(NodeError) as caught:
        member({"x": np.array([[0, bad]], dtype)})
    assert caught.value.code == "wrong_value"


def test_several_texts_are_a_tensor_of_texts(tmp_path: Path) -> None:
    words = ("W", "STRING", ["N", 2])
    write_graph(
        tmp_path / "words.onnx", [("Identity", ["W"], ["V"], {})], [words], [("V", "STRING", ["N", 2])]
    )
    inputs = {"a": "string", "b": "string"}
    two = node("words.onnx", inputs=["b", "a"], outputs={"y": "array<string>"})
    batch = {"a": np.array(["one", "two"], dtype=object), "b": np.array(["", "zwölf"], dtype=object)}
    assert load_node(tmp_path, inputs, two)(batch)["y"].tolist() == [["", "one"], ["zwölf", "two"]]
    three = two | {"inputs": ["a", "b", "a2"]}
    assert ("signature_mismatch", "inputs") in problems_of(tmp_path, inputs | {"a2": "string"}, three)


def value(name: str, *shape: int | str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def save(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> None:
    graph = helper.make_graph(nodes, "test", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(model, path)


def optional_graph(folder: Path) -> str:
    """Writes a graph that adds its optional input ``O`` to ``X`` where it is given."""
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 2])
    given = helper.make_value_info("O", helper.make_optional_type_proto(tensor))
    add = [
        helper.make_node("OptionalGetElement", ["O"], ["e"]),
        helper.make_node("Add", ["X", "e"], ["s"]),
    ]
    then = helper.make_graph(add, "then", [], [value("s", "N", 2)])
    same = helper.make_graph([helper.make_node("Identity", ["X"], ["i"])], "else", [], [value("i", "N", 2)])
    nodes = [
        helper.make_node("OptionalHasElement", ["O"], ["has"]),
        helper.make_node("If", ["has"], ["Y"], then_branch=then, else_branch=same),
    ]
    save(folder / "optional.onnx", nodes, [value("X", "N", 2), given], [value("Y", "N", 2)])
    return "optional.onnx"


def test_an_optional_input_may_be_left_out(tmp_path: Path) -> None:
    uri, x = optional_graph(tmp_path), np.ones((3, 2), np.float32)
    assert load_node(tmp_path, PAIR, node(uri))({"x": x})["y"].tolist() == [[1, 1]] * 3
    both = node(uri, inputs={"X": "x", "O": "o"})
    answer = load_node(tmp_path, PAIR | {"o": "array<float>[2]"}, both)({"x": x, "o": 2 * x})
    assert answer["y"].tolist() == [[3, 3]] * 3
    assert problems_of(tmp_path, PAIR, node(uri, inputs={"O": "x"})) == [("signature_mismatch", "inputs")]


def sequence_graph(folder: Path) -> str:
    """Writes a graph that gives its rows as a sequence."""
    rows = helper.make_tensor_sequence_value_info("S", TensorProto.FLOAT, [2])
    parts = helper.make_node("SplitToSequence", ["X"], ["S"], axis=0, keepdims=0)
    save(folder / "rows.onnx", [parts], [value("X", "N", 2)], [rows])
    return "rows.onnx"


@pytest.mark.parametrize("type_", ["array<float>[2]", "array<double>"])
def test_a_sequence_of_tensors_is_one_a_row(tmp_path: Path, type_: str) -> None:
    uri, x = sequence_graph(tmp_path), np.arange(6, dtype=np.float32).reshape(3, 2)
    assert problems_of(tmp_path, PAIR, node(uri)) == [("missing_type", "outputs.y")]
    answer = load_node(tmp_path, PAIR, node(uri, outputs={"y": type_}))({"x": x})["y"]
    assert [list(row) for row in answer] == x.tolist()


def test_the_file_and_onnxruntime_say_the_same(tmp_path: Path) -> None:
    for uri in (optional_graph(tmp_path), sequence_graph(tmp_path), echo(tmp_path, "uint16")):
        session = onnxruntime.InferenceSession(tmp_path / uri, providers=["CPUExecutionProvider"])
        read, loaded = read_signature(str(tmp_path / uri)), signature_of(session)
        assert read.inputs == loaded.inputs
        assert [(port.name, port.element, port.items) for port in read.outputs] == [
            (port.name, port.element, port.items) for port in loaded.outputs
        ]
    assert read_signature(str(tmp_path / "rows.onnx")).outputs == (Port("S", "float", None, TENSORS),)


@pytest.mark.parametrize("how", [{"batch": {"max": 1}}, {"config": {"max_batch_size": 1}}])
def test_a_graph_of_one_row_at_a_time_is_taken_where_it_gets_them_so(
    onnx_models: Path, how: dict[str, Any]
) -> None:
    alone = node("fixed.onnx", **how)
    assert types_of(onnx_models, PAIR, alone) == {"y": "array<float>[2]"}
    assert load_node(onnx_models, PAIR, alone)({"x": np.ones((1, 2), np.float32)})["y"].tolist() == [[2, 2]]


def test_options_of_the_session_may_be_words(onnx_models: Path) -> None:
    settings = {"graph_optimization_level": "disable", "execution_mode": "parallel"}
    member: Any = load_node(onnx_models, PAIR, node("double.onnx", config={"session_options": settings}))
    options = member.model.get_session_options()
    assert options.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    assert options.execution_mode == onnxruntime.ExecutionMode.ORT_PARALLEL


@pytest.mark.parametrize(
    ("config", "spins"), [({}, "0"), ({"session_options": {"allow_spinning": True}}, "1")]
)
def test_threads_spin_only_where_the_file_says_so(
    onnx_models: Path, config: dict[str, Any], spins: str
) -> None:
    member: Any = load_node(onnx_models, PAIR, node("double.onnx", config=config))
    options = member.model.get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == spins
    assert options.get_session_config_entry("session.inter_op.allow_spinning") == spins


def test_spinning_is_a_truth_value(onnx_models: Path) -> None:
    with pytest.raises(InvalidEnsemble, match=r"config\.session_options.*allow_spinning to true or false"):
        load_node(onnx_models, PAIR, node("double.onnx", config={"session_options": {"allow_spinning": 1}}))


def test_a_gpu_that_is_not_there_is_said(onnx_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(InvalidEnsemble, match=r"\[no_gpu\] nodes\.node\.device: .*onnxruntime-gpu"):
        load_node(onnx_models, PAIR, node("double.onnx", device="gpu"))
    member: Any = load_node(onnx_models, PAIR, node("double.onnx", device="auto"))
    assert member.model.get_providers() == ["CPUExecutionProvider"]


CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
FELL_BACK: Any = SimpleNamespace(get_providers=lambda: [CPU])
"""Stands in for a session of onnxruntime that could not start CUDA, which it only logs."""


def test_a_provider_that_does_not_start_is_an_error_unless_the_cpu_may_do(
    onnx_models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    strict = check_node(onnx_models, PAIR, node("double.onnx", device="gpu"))
    with pytest.raises(InvalidEnsemble, match=r"\[no_gpu\] nodes\.node\.device: .*could not start CUDAExec"):
        check_device(strict, FELL_BACK, [CUDA, CPU])
    named = check_node(onnx_models, PAIR, node("double.onnx", config={"providers": [CUDA]}))
    with pytest.raises(
        InvalidEnsemble, match=r"\[no_gpu\] nodes\.node\.config\.providers: .*add CPUExecutionProv"
    ):
        check_device(named, FELL_BACK, [CUDA])
    assert not caplog.records
    check_device(check_node(onnx_models, PAIR, node("double.onnx")), FELL_BACK, [CUDA, CPU])
    assert "node 'node' runs on CPUExecutionProvider: onnxruntime could not start CUDA" in caplog.text
    caplog.clear()
    check_device(check_node(onnx_models, PAIR, node("double.onnx")), FELL_BACK, [CPU])
    assert not caplog.records
