"""Nodes of ONNX: what their own graph says, and what they answer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
    NodeError,
)
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.onnx.classes import read_classes
from beam_ensembles.handlers.onnx.graph import read_signature
from beam_ensembles.handlers.onnx.session import SESSION_OPTIONS
from beam_ensembles.handlers.support.signatures import (
    Port,
)
from beam_ensembles.registry import KINDS
from tests.support.models import iris, write_graph
from tests.support.nodes import check_node, load_node, problems_of, types_of

PAIR = {"x": "array<double>[2]"}
AB = {"a": "double", "b": "float"}
NAMED = {"inputs": {"a": "a", "b": "b"}, "outputs": {"total": "double", "times": {"from": "product"}}}


def node(uri: str, **more: Any) -> dict[str, Any]:
    return {"model": "onnx", "uri": uri, "inputs": ["x"], "outputs": {"y": None}} | more


def test_a_list_is_the_graphs_only_input_and_doubles_become_its_floats(onnx_models: Path) -> None:
    x = np.random.default_rng(0).normal(size=(7, 2))
    assert types_of(onnx_models, PAIR, node("double.onnx")) == {"y": "array<float>[2]"}
    answer = load_node(onnx_models, PAIR, node("double.onnx"))({"x": x})["y"]
    np.testing.assert_array_equal(answer, x.astype(np.float32) * 2, strict=True)


def test_scalars_are_joined_to_the_matrix_that_the_graph_takes(onnx_models: Path) -> None:
    member = load_node(onnx_models, AB, node("double.onnx", inputs=["b", "a"]))
    answer = member({"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0], np.float32)})
    assert answer["y"].tolist() == [[6, 2], [8, 4]]


def test_several_inputs_and_outputs_have_names_and_a_column_of_one_becomes_a_scalar(
    onnx_models: Path,
) -> None:
    assert types_of(onnx_models, AB, node("sum.onnx", **NAMED)) == {
        "total": "double",
        "times": "array<double>[1]",
    }
    answer = load_node(onnx_models, AB, node("sum.onnx", **NAMED))(
        {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0], np.float32)}
    )
    assert answer["total"].tolist() == [4, 6]
    assert answer["times"].tolist() == [[3], [8]]


def test_an_argument_of_the_call_may_be_one_of_the_inputs(onnx_models: Path) -> None:
    fixed = node("sum.onnx", inputs=["a"], inference_args={"b": [[10]]}, outputs={"total": None})
    assert load_node(onnx_models, AB, fixed)({"a": np.array([1.0, 2.0])})["total"].tolist() == [[11], [12]]


def test_text_goes_in_and_out(onnx_models: Path) -> None:
    words = np.array(["one", "", "zwölf"], dtype=object)
    echo = node("echo.onnx")
    assert types_of(onnx_models, {"x": "string"}, echo) == {"y": "string"}
    assert load_node(onnx_models, {"x": "string"}, echo)({"x": words})["y"].tolist() == words.tolist()


def test_whole_numbers_become_wider_ones(onnx_models: Path) -> None:
    counts = {"x": "array<int32>[2]"}
    answer = load_node(onnx_models, counts, node("counts.onnx"))({"x": np.array([[1, 2]], np.int32)})["y"]
    np.testing.assert_array_equal(answer, np.array([[2, 4]]), strict=True)


def test_a_number_that_is_too_large_for_the_graphs_float_is_an_error_of_its_row(onnx_models: Path) -> None:
    member = load_node(onnx_models, PAIR, node("double.onnx"))
    with pytest.raises(NodeError, match="too large") as caught:
        member({"x": np.array([[1.0, 1e300]])})
    assert caught.value.code == "wrong_value"


def test_skl2onnx_models_give_labels_and_probabilities(tmp_path: Path) -> None:
    data = iris()
    model = LogisticRegression(max_iter=500).fit(data.x, np.array(["a", "b", "c"])[data.y])
    onx = to_onnx(model, data.x[:1].astype(np.float32), options={"zipmap": False}, target_opset=17)
    (tmp_path / "iris.onnx").write_bytes(onx.SerializeToString())
    outputs = {"label": None, "p": {"from": "probabilities"}}
    both = node("iris.onnx", outputs=outputs)
    four = {"x": "array<double>[4]"}
    assert types_of(tmp_path, four, both) == {"label": "string", "p": "array<float>[3]"}
    answer = load_node(tmp_path, four, both)({"x": data.x})
    assert answer["label"].tolist() == model.predict(data.x).tolist()
    np.testing.assert_allclose(answer["p"], model.predict_proba(data.x), atol=1e-6)
    zipped = to_onnx(model, data.x[:1].astype(np.float32), target_opset=17)
    (tmp_path / "iris.onnx").write_bytes(zipped.SerializeToString())
    maps = {"from": "output_probability"}
    lists = node("iris.onnx", outputs={"m": maps, "p": maps | {"type": "array<float>[3]"}})
    assert types_of(tmp_path, four, lists) == {"m": "map<string,float>", "p": "array<float>[3]"}
    answer = load_node(tmp_path, four, lists)({"x": data.x})
    np.testing.assert_allclose(answer["p"], model.predict_proba(data.x), atol=1e-6)
    assert [list(one) for one in answer["m"]] == [["a", "b", "c"]] * len(data.x)
    np.testing.assert_array_equal([list(one.values()) for one in answer["m"]], answer["p"])


@pytest.mark.parametrize(
    ("inputs", "changed", "problem"),
    [
        (PAIR, node("double.onnx", inputs={"Y": "x"}), ("unknown_port", "inputs.Y")),
        (PAIR, node("double.onnx", outputs={"y": {"from": "Z"}}), ("unknown_port", "outputs.y")),
        (PAIR, node("double.onnx", outputs={"y": "array<float>[3]"}), ("signature_mismatch", "outputs.y")),
        (PAIR, node("double.onnx", outputs={"y": "array<int64>[2]"}), ("signature_mismatch", "outputs.y")),
        ({"x": "array<double>[3]"}, node("double.onnx"), ("signature_mismatch", "inputs")),
        ({"x": "array<int64>[2]"}, node("double.onnx"), ("signature_mismatch", "inputs")),
        (PAIR, node("counts.onnx"), ("signature_mismatch", "inputs")),
        ({"x": "string"}, node("double.onnx"), ("signature_mismatch", "inputs")),
        ({"x": "row<a: int64>"}, node("double.onnx"), ("type_mismatch", "inputs[0]")),
        (AB, node("sum.onnx", inputs=["a"], outputs={"total": None}), ("signature_mismatch", "inputs")),
        (AB, node("sum.onnx", inputs={"a": "a"}, outputs={"total": None}), ("signature_mismatch", "inputs")),
        (AB, node("sum.onnx", inputs={"a": "a", "b": "b"}), ("unknown_port", "outputs.y")),
        (PAIR, node("fixed.onnx"), ("signature_mismatch", "inputs")),
        (PAIR, node("double.onnx", inference_args={"Z": 1}), ("unknown_port", "inference_args.Z")),
        (PAIR, node("double.onnx", device="tpu"), ("bad_value", "device")),
        (
            PAIR,
            node("double.onnx", device="cpu", config={"providers": ["CPUExecutionProvider"]}),
            ("bad_value", "device"),
        ),
        (
            PAIR,
            node("double.onnx", config={"session_options": {"execution_mode": "fast"}}),
            ("bad_value", "config.session_options"),
        ),
        (PAIR, node("open.onnx"), ("missing_type", "outputs.y")),
        (PAIR, node("doubel.onnx"), ("missing_file", "uri")),
        (PAIR, node("double.onnx", config={"providers": "CPU"}), ("bad_value", "config.providers")),
        (
            PAIR,
            node("double.onnx", config={"session_options": {"no": 1}}),
            ("bad_value", "config.session_options"),
        ),
        (PAIR, node("double.onnx", config={"provider": []}), ("unknown_option", "config.provider")),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    onnx_models: Path, inputs: dict[str, str], changed: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems_of(onnx_models, inputs, changed)


@pytest.mark.parametrize("type_", ["array<float>[2]", "array<double>", "array<float>"])
def test_what_the_graph_leaves_open_is_as_declared(onnx_models: Path, type_: str) -> None:
    open_ = node("open.onnx", outputs={"y": type_})
    answer = load_node(onnx_models, PAIR, open_)({"x": np.array([[1.0, 2.0]])})["y"]
    assert [list(row) for row in answer] == [[2, 4]]


def test_options_of_the_session_are_set(onnx_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BEAM_ENSEMBLES_TEST", raising=False)
    config = {
        "session_options": {"intra_op_num_threads": 1},
        "providers": ["CPUExecutionProvider"],
        "env_vars": {"BEAM_ENSEMBLES_TEST": "seen"},
        "max_batch_size": 8,
    }
    member: Any = load_node(onnx_models, PAIR, node("double.onnx", config=config))
    assert member.model.get_session_options().intra_op_num_threads == 1
    assert os.environ["BEAM_ENSEMBLES_TEST"] == "seen"
    assert set(SESSION_OPTIONS) <= set(dir(onnxruntime.SessionOptions()))


def test_weights_may_be_given_but_need_not(tmp_path: Path) -> None:
    path = write_graph(
        tmp_path / "old.onnx",
        [("Add", ["X", "bias"], ["Y"], {})],
        [("X", "FLOAT", ["N", 2]), ("bias", "FLOAT", [2])],
        [("Y", "FLOAT", [None, 2])],
        [numpy_helper.from_array(np.ones(2, np.float32), "bias")],
    )
    signature = read_signature(str(path))
    assert signature.inputs == (
        Port("X", "float", (None, 2)),
        Port("bias", "float", (2,), is_optional=True),
    )
    assert signature.outputs == (Port("Y", "float", (None, 2)),)
    one = {"x": np.array([[1.0, 2.0]])}
    assert load_node(tmp_path, PAIR, node("old.onnx"))(one)["y"].tolist() == [[2, 3]]
    other = node("old.onnx", inference_args={"bias": [10, 20]})
    assert load_node(tmp_path, PAIR, other)(one)["y"].tolist() == [[11, 22]]
    model = onnx.load(path)
    model.ir_version = 3
    onnx.save(model, path)
    assert read_signature(str(path)).inputs == (Port("X", "float", (None, 2)),)


@pytest.mark.parametrize("data", [b"", b"{}", b"\x08\x07", b"\x3a\x7f", b"\xff" * 20])
def test_what_is_no_model_has_no_signature(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(ModelFormatError):
        read_signature(str(tmp_path / "model.onnx"))
    assert problems_of(tmp_path, PAIR, node("model.onnx", outputs={"y": "float"})) == [
        ("bad_model_file", "uri")
    ]


def test_a_cut_model_has_no_signature_or_that_of_the_whole(onnx_models: Path, tmp_path: Path) -> None:
    whole = (onnx_models / "sum.onnx").read_bytes()
    signature = read_signature(str(onnx_models / "sum.onnx"))
    assert [port.name for port in signature.outputs] == ["total", "product"]
    refused = 0
    for length in range(len(whole)):
        (tmp_path / "cut.onnx").write_bytes(whole[:length])
        try:
            assert read_signature(str(tmp_path / "cut.onnx")) == signature
        except ModelFormatError:
            refused += 1
    assert refused > len(whole) * 0.8


def test_the_worker_compares_the_graph_once_more(onnx_models: Path) -> None:
    checked = check_node(onnx_models, PAIR, node("double.onnx"))
    other = CheckedNode(
        checked.spec, checked.kind, checked.inputs, checked.outputs, str(onnx_models / "counts.onnx")
    )
    with pytest.raises(InvalidEnsemble, match=r"\[signature_mismatch\] nodes\.node\.inputs: "):
        KINDS[("model", "onnx")].load(other)


@pytest.mark.parametrize("is_raw", [True, False])
@pytest.mark.parametrize(
    ("dtype", "labels"), [("int64", (3, -5)), ("int32", (3, -5)), ("str", ("yes", "no"))]
)
def test_classes_that_stand_in_a_constant_are_read(
    dtype: str, labels: tuple[object, ...], is_raw: bool, tmp_path: Path
) -> None:
    """``ArrayFeatureExtractor`` takes the class at the place of the greatest score from a constant."""
    type_ = {"int64": TensorProto.INT64, "int32": TensorProto.INT32, "str": TensorProto.STRING}[dtype]
    values = np.array(labels, dtype).tobytes() if is_raw and dtype != "str" else labels
    constant = helper.make_tensor("classes", type_, [len(labels)], values, raw=isinstance(values, bytes))
    nodes = [
        helper.make_node("ArgMax", ["scores"], ["place"], axis=1),
        helper.make_node("ArrayFeatureExtractor", ["classes", "place"], ["label"], domain="ai.onnx.ml"),
    ]
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 2])
    label = helper.make_tensor_value_info("label", type_, [1, None])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [scores], [label], [constant])), path)
    assert read_classes(str(path)).of_all == labels
