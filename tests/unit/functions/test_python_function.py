"""``apply: python``: what a function is given, and what becomes of what it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import Member
from tests.support import column_functions
from tests.support.nodes import load_node, problems_of, types_of

HERE = "tests.support.column_functions"
X = {"x": "double"}
PAIR = {"x": "int64", "z": "int64"}


def node(function: str = "scaled", **more: Any) -> dict[str, Any]:
    return {
        "apply": "python",
        "function": f"{HERE}.{function}",
        "inputs": {"values": "x"},
        "outputs": {"y": "double"},
    } | more


def loaded(inputs: dict[str, str], described: dict[str, Any]) -> Member:
    return load_node(Path("/"), inputs, described)


def test_a_function_is_called_once_with_whole_columns() -> None:
    assert types_of(Path("/"), X, node()) == {"y": "double"}
    column_functions.CALLS.clear()
    assert loaded(X, node())({"x": np.arange(100.0)})["y"].tolist() == (np.arange(100.0) * 2).tolist()
    assert column_functions.CALLS == [100]


def test_arguments_of_every_batch_are_the_same() -> None:
    member = loaded(X, node(call_args={"factor": -1}))
    assert member({"x": np.array([1.0, 2.0])})["y"].tolist() == [-1, -2]


@pytest.mark.parametrize("inputs", [["x", "z"], {"a": "x", "b": "z"}, {"b": "z", "a": "x"}])
def test_several_columns_in_and_out(inputs: Any) -> None:
    outputs = {"total": "int64", "text": {"from": "words", "type": "string"}}
    member = loaded(PAIR, node("both", inputs=inputs, outputs=outputs))
    found = member({"x": np.array([1, 2]), "z": np.array([30, 40])})
    assert found["total"].tolist() == [31, 42]
    assert found["text"].tolist() == ["1\0", "2\0"]


def test_a_tensor_is_an_array_of_rows() -> None:
    member = loaded({"x": "array<float>[2]"}, node(outputs={"y": "array<float>[2]"}))
    found = member({"x": np.array([[1, 2], [3, 4]], np.float32)})["y"]
    assert (found.dtype, found.tolist()) == (np.float32, [[2, 4], [6, 8]])


def test_a_bad_row_is_found() -> None:
    x = np.arange(64.0)
    x[[3, 40]] = -1
    good, faults = run_split(loaded(X, node("picky")), {"x": x}, 64)
    assert {at: (fault.code, fault.message) for at, fault in faults.items()} == dict.fromkeys(
        (3, 40), ("model_error", "ValueError: a negative number")
    )
    np.testing.assert_allclose(good["y"], np.sqrt(x[x >= 0]))


@pytest.mark.parametrize(
    ("described", "code"),
    [
        (node("short"), "misaligned"),
        (node(outputs={"y": "int64"}), "bad_output"),
        (node(outputs={"y": "double", "z": "double"}), "bad_output"),
        (node("both", inputs={"a": "x", "b": "x"}), "bad_output"),
    ],
)
def test_what_is_not_as_declared(described: dict[str, Any], code: str) -> None:
    with pytest.raises(NodeError) as caught:
        loaded(X, described)({"x": np.arange(4.0)})
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("described", "code", "key"),
    [
        (node(inputs={"value": "x"}), "signature_mismatch", "inputs"),
        (node(inputs=["x", "x", "x"]), "signature_mismatch", "inputs"),
        (node(call_args={"facter": 1}), "signature_mismatch", "inputs"),
        (node("nothing"), "import_failed", "function"),
        (node("Scaler"), "import_failed", "function"),
        (node("CALLS"), "import_failed", "function"),
    ],
)
def test_a_function_that_cannot_be_called_so(described: dict[str, Any], code: str, key: str) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        loaded(X, described)
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == (code, f"nodes.node.{key}")


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({"function": "os.system"}, [("untrusted_code", "function")]),
        ({"function": "torch.nn.functional.relu"}, [("untrusted_code", "function")]),
        ({"function": "scaled"}, [("bad_name", "function")]),
        ({"inputs": None}, [("missing_key", "inputs")]),
        ({"outputs": {"y": None}}, [("missing_type", "outputs.y")]),
        ({"inputs": {"values": "x"}, "call_args": {"values": 1}}, [("bad_value", "inputs.values")]),
        ({"batch": {"max": 0}}, [("bad_value", "batch.max")]),
    ],
)
def test_what_is_wrong(more: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert problems_of(Path("/"), X, node() | more) == wanted


def test_a_stranger_names_no_function() -> None:
    assert problems_of(Path("/"), X, node(), trust=False) == [("untrusted_code", "function")]
