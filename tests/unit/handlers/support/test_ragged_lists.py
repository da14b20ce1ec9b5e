"""Lists of any length in the place of tensors: the same answers as row by row, in as few calls as there are shapes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import InvalidEnsemble, NodeError, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns, options_of
from beam_ensembles.handlers.support.ragged_lists import by_length
from beam_ensembles.handlers.support.signatures import Port, Signature
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.load import load_text
from beam_ensembles.types import parse_type
from tests.support.models import write_graph
from tests.support.nodes import check_node, load_node, problems_of
from tests.support.open_inference import Model, served

OPTIONS = options_of(KINDS)


def objects(values: Sequence[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    return np.fromiter(values, dtype=object, count=len(values))


def checked(inputs: dict[str, str], **more: Any) -> CheckedNode:
    node = {
        "model": "onnx",
        "uri": "x",
        "inputs": {name: name for name in inputs},
        "outputs": {"y": "double"},
    }
    spec = load_text(
        json.dumps({"ensemble": "test", "inputs": inputs, "nodes": {"node": node | more}}), OPTIONS
    )
    types = {name: parse_type(type_) for name, type_ in inputs.items()}
    return CheckedNode(
        spec.nodes[0], KINDS["model", spec.nodes[0].target], types, {"y": parse_type("double")}
    )


class Recorder:
    """A member that sums what it is given a row, refuses rows that hold 13, and remembers the shapes of its calls."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, columns: Columns) -> Columns:
        x = columns["x"]
        self.shapes.append(x.shape)
        bad = (x == 13).reshape(len(x), -1).any(axis=1)
        found = x.reshape(len(x), -1).sum(axis=1) + columns["k"]
        if bad.any():
            faults = {int(at): NodeError("unlucky", "13") for at in np.flatnonzero(bad)}
            raise SomeFailed({"y": found[~bad]}, faults)
        return {"y": found}


numbers = st.sampled_from([0.0, 1.0, -2.5, 13.0, 1e9])


@given(st.lists(st.lists(numbers, max_size=3), min_size=1, max_size=12))
def test_rows_of_any_lengths_give_what_they_give_alone(rows: list[list[float]]) -> None:
    recorder = Recorder()
    member = by_length(checked({"x": "array<double>", "k": "int64"}), recorder)
    faults: dict[int, NodeError] = {}
    try:
        y = member({"x": objects(rows), "k": np.arange(len(rows))})["y"]
    except SomeFailed as error:
        y, faults = error.columns["y"], dict(error.faults)
    good = [at for at, row in enumerate(rows) if 13.0 not in row]
    assert y.tolist() == [sum(rows[at]) + at for at in good]
    assert {at: fault.code for at, fault in faults.items()} == {
        at: "unlucky" for at in range(len(rows)) if at not in good
    }
    assert len(recorder.shapes) == len({len(row) for row in rows})


def test_a_row_of_another_length_than_the_models_fails_alone() -> None:
    recorder = Recorder()
    signature = Signature((Port("x", "double", (None, 2)), Port("k", "int64", (None, 1))), ())
    member = by_length(checked({"x": "array<double>", "k": "int64"}), recorder, signature)
    with pytest.raises(SomeFailed) as caught:
        member({"x": objects([[1.0, 2.0], [], [3.0, 4.0]]), "k": np.zeros(3, int)})
    assert caught.value.columns["y"].tolist() == [3, 7]
    assert {at: (fault.code, fault.message) for at, fault in caught.value.faults.items()} == {
        1: ("wrong_length", "'x' holds 0 values, the model takes 2")
    }


def test_lists_of_lists_are_tensors_where_the_inner_ones_are_alike() -> None:
    recorder = Recorder()
    member = by_length(checked({"x": "array<array<double>>", "k": "int64"}), recorder)
    rows = [[[1.0, 2.0]], [[1.0], [2.0, 3.0]], [[4.0, 5.0]], []]
    with pytest.raises(SomeFailed) as caught:
        member({"x": objects(rows), "k": np.zeros(4, int)})
    assert caught.value.columns["y"].tolist() == [3, 9, 0]
    assert [(at, fault.code) for at, fault in caught.value.faults.items()] == [(1, "wrong_value")]
    assert recorder.shapes == [(2, 1, 2), (1, 0, 0)]


def test_nothing_stands_between_where_there_are_no_lists_or_each_row_is_a_batch() -> None:
    recorder = Recorder()
    assert by_length(checked({"x": "array<double>[2]", "k": "int64"}), recorder) is recorder
    assert by_length(checked({"x": "array<double>", "k": "int64"}, per_row=True), recorder) is recorder


def onnx(uri: str, **more: Any) -> dict[str, Any]:
    return {"model": "onnx", "uri": uri, "inputs": ["x"], "outputs": {"y": None}} | more


@pytest.mark.parametrize("uri", ["words.onnx", "pairs.onnx"])
def test_lists_of_texts_feed_tensors_of_texts(tmp_path: Path, uri: str) -> None:
    length = {"words.onnx": "T", "pairs.onnx": 2}[uri]
    words = ("W", "STRING", ["N", length])
    write_graph(tmp_path / uri, [("Identity", ["W"], ["V"], {})], [words], [("V", "STRING", ["N", length])])
    member = load_node(tmp_path, {"x": "array<string>"}, onnx(uri, outputs={"y": "array<string>"}))
    assert member({"x": objects([["a", "zwölf"], ["", "b"]])})["y"].tolist() == [["a", "zwölf"], ["", "b"]]
    rows = objects([["a"], ["b", "c"], ["d"]])
    if length == "T":
        assert member({"x": rows})["y"].tolist() == rows.tolist()
        return
    with pytest.raises(SomeFailed) as caught:
        member({"x": rows})
    assert caught.value.columns["y"].tolist() == [["b", "c"]]
    assert {at: fault.code for at, fault in caught.value.faults.items()} == dict.fromkeys(
        (0, 2), "wrong_length"
    )


def test_lists_of_numbers_feed_open_lengths(tmp_path: Path) -> None:
    wide = ("X", "INT32", ["N", "T"])
    write_graph(tmp_path / "add.onnx", [("Add", ["X", "X"], ["Y"], {})], [wide], [("Y", "INT32", ["N", "T"])])
    member = load_node(tmp_path, {"x": "array<int64>"}, onnx("add.onnx", outputs={"y": "array<int32>"}))
    assert [list(row) for row in member({"x": objects([[1], [2, 3], [4]])})["y"]] == [[2], [4, 6], [8]]


@pytest.mark.parametrize(
    ("type_", "problem"),
    [
        ("array<float>", ("signature_mismatch", "inputs")),  # [N, 2] is better declared
        ("array<string>", ("signature_mismatch", "inputs")),
        ("array<float?>", ("type_mismatch", "inputs[0]")),
        ("map<string,float>", ("type_mismatch", "inputs[0]")),
        ("array<array<float>>", ("signature_mismatch", "inputs")),
    ],
)
def test_lists_that_cannot_be_tensors_are_refused(
    tmp_path: Path, type_: str, problem: tuple[str, str]
) -> None:
    pair = ("X", "FLOAT", ["N", 2])
    write_graph(tmp_path / "add.onnx", [("Add", ["X", "X"], ["Y"], {})], [pair], [("Y", "FLOAT", ["N", 2])])
    assert problems_of(tmp_path, {"x": type_}, onnx("add.onnx")) == [problem]


def test_a_fixed_length_says_how_it_is_declared(tmp_path: Path) -> None:
    pair = ("X", "FLOAT", ["N", 2])
    write_graph(tmp_path / "add.onnx", [("Add", ["X", "X"], ["Y"], {})], [pair], [("Y", "FLOAT", ["N", 2])])
    with pytest.raises(InvalidEnsemble, match=r"declare the column as array<double>\[2\]"):
        check_node(tmp_path, {"x": "array<double>"}, onnx("add.onnx"))
    with pytest.raises(InvalidEnsemble, match=r"declare the length of each list"):
        check_node(tmp_path, {"x": "array<double>", "k": "double"}, onnx("add.onnx", inputs=["x", "k"]))


@pytest.mark.parametrize(
    ("type_", "rows"),
    [
        ("string", [["a", "zwölf"], ["b"], ["", "c"], []]),
        ("bytes", [[b"\xff", b""], [b"b"], [b"", b"\0"], []]),
    ],
)
def test_lists_of_texts_go_to_a_server_and_back(tmp_path: Path, type_: str, rows: list[Any]) -> None:
    echo = Model(lambda given: {"y": given["x"]}, [("x", "BYTES", [-1, -1])], [("y", "BYTES", [-1, -1])])
    with served({"echo": echo}) as server:
        node = {
            "model": "open_inference",
            "uri": server.uri("echo"),
            "inputs": ["x"],
            "outputs": {"y": f"array<{type_}>"},
        }
        member = load_node(tmp_path, {"x": f"array<{type_}>"}, node)
        assert member({"x": objects(rows)})["y"].tolist() == rows
        assert [call.tensors["x"].shape for call in server.calls] == [(2, 2), (1, 1), (1, 0)]


def test_lists_of_tokens_feed_pytorch(tmp_path: Path) -> None:
    import safetensors.torch
    import torch

    torch.manual_seed(3)
    bag = torch.nn.EmbeddingBag(10, 3, mode="mean")
    safetensors.torch.save_file(bag.state_dict(), tmp_path / "bag.safetensors")
    node = {
        "model": "pytorch",
        "uri": "bag.safetensors",
        "model_class": "torch.nn.EmbeddingBag",
        "model_params": {"num_embeddings": 10, "embedding_dim": 3, "mode": "mean"},
        "inputs": ["x"],
        "outputs": {"y": "array<float>[3]"},
    }
    rows = [[1, 2, 3], [4], [5, 6, 7], [9]]
    found = load_node(tmp_path, {"x": "array<int64>"}, node)({"x": objects(rows)})["y"]
    with torch.inference_mode():
        wanted = np.concatenate([bag(torch.tensor([row])).numpy() for row in rows])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
