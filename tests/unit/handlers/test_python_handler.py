"""Nodes of any model handler: what a fused stage honours of it, what it is given, what becomes of its answers."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.handlers.python.batches import batches
from beam_ensembles.registry import KINDS
from tests.support import model_handlers

HERE = "tests.support.model_handlers"
TEXT = {"x": "string"}
Node = dict[str, Any]


def node(handler: str = "Echo", **more: Any) -> Node:
    return {
        "model": "python",
        "handler": f"{HERE}.{handler}",
        "inputs": ["x"],
        "outputs": {"text": "string"},
    } | more


def checked(inputs: dict[str, str], described: Node, files: Files | None = None) -> CheckedNode:
    text = json.dumps({"ensemble": "test", "inputs": inputs, "nodes": {"node": described}})
    return check_text(text, KINDS, files or Files(code=(f"{HERE}.*", "env:ECHO"))).nodes[0]


def problems(inputs: dict[str, str], described: Node, files: Files | None = None) -> list[tuple[str, str]]:
    with pytest.raises(InvalidEnsemble) as caught:
        checked(inputs, described, files)
    return [(problem.code, problem.path.removeprefix("nodes.node.")) for problem in caught.value.problems]


def load(inputs: dict[str, str], described: Node, files: Files | None = None) -> Member:
    return KINDS["model", "python"].load(checked(inputs, described, files))


def texts(*values: str) -> Columns:
    return {"x": np.fromiter(values, dtype=object, count=len(values))}


@pytest.fixture(autouse=True)
def calls() -> Iterator[list[list[Any]]]:
    model_handlers.CALLS.clear()
    yield model_handlers.CALLS
    model_handlers.CALLS.clear()


def test_each_row_is_an_example_and_each_prediction_its_answer(calls: list[list[Any]]) -> None:
    member = load(TEXT, node(config={"prefix": "> "}))
    assert member(texts("a", "b"))["text"].tolist() == ["> a", "> b"]
    assert calls == [["a", "b"]]


@pytest.mark.parametrize(
    ("inputs", "listed", "columns", "wanted"),
    [
        ({"x": "double"}, ["x"], {"x": np.array([1.0])}, "float"),
        ({"x": "int64"}, ["x"], {"x": np.array([1])}, "int"),
        ({"x": "boolean"}, ["x"], {"x": np.array([True])}, "bool"),
        ({"x": "array<float>[2,3]"}, ["x"], {"x": np.zeros((1, 2, 3), np.float32)}, "float32[2, 3]"),
        (
            {"x": "array<string>"},
            ["x"],
            {"x": np.fromiter([["a"]], dtype=object, count=1)},
            "list",
        ),
        (
            {"x": "array<double>[2]", "y": "int32"},
            ["y", "x"],
            {"x": np.zeros((1, 2)), "y": np.ones(1, np.int32)},
            "float64[3]",
        ),
        (
            {"x": "string", "y": "array<float>[2]"},
            {"question": "x", "image": "y"},
            {"x": np.array(["a"], dtype=object), "y": np.zeros((1, 2), np.float32)},
            "question:str,image:ndarray",
        ),
    ],
)
def test_what_an_example_is_follows_from_the_inputs(
    inputs: dict[str, str], listed: Any, columns: Columns, wanted: str
) -> None:
    member = load(inputs, node("Described", inputs=listed))
    assert member(columns)["text"].tolist() == [wanted]


@pytest.mark.parametrize(
    ("outputs", "wanted"),
    [
        ({"y": {"from": "choices.0.text", "type": "string"}}, ["it is a"]),
        ({"y": {"from": "usage.tokens", "type": "int32"}}, [3]),
        ({"y": {"from": "choices.0.logprobs", "type": "map<string,double>"}}, [{"token": -0.5}]),
    ],
)
def test_a_port_may_lead_into_what_a_client_gives(outputs: Any, wanted: list[Any]) -> None:
    assert load(TEXT, node("Nested", outputs=outputs))(texts("a"))["y"].tolist() == wanted


@pytest.mark.parametrize("port", ["choices.1.text", "choices.0.words", "__class__.__name__", "choices.text"])
def test_a_port_that_is_not_there_is_the_rows_error(port: str) -> None:
    member = load(TEXT, node("Nested", outputs={"y": {"from": port, "type": "string"}}))
    with pytest.raises(NodeError, match=f"returned no '{port}'") as caught:
        member(texts("a"))
    assert caught.value.code == "bad_output"


def test_several_outputs_are_keys_of_the_prediction() -> None:
    outputs = {"words": {"from": "text", "type": "string"}, "pid": "int64"}
    answer = load(TEXT, node(outputs=outputs))(texts("a"))
    assert (answer["words"].tolist(), answer["pid"].tolist()) == (["a"], [os.getpid()])


def test_an_exception_among_the_predictions_is_the_error_of_its_row_alone(calls: list[list[Any]]) -> None:
    member = load(TEXT, node(config={"failing": ["b"]}))
    outputs, faults = run_split(member, texts("a", "b", "c"), 3)
    assert outputs["text"].tolist() == ["a", "c"]
    assert [(at, fault.code, fault.message) for at, fault in faults.items()] == [
        (1, "model_error", "ValueError: no b")
    ]
    assert len(calls) == 1
    _, faults = run_split(load(TEXT, node(config={"failing": ["b"]})), texts("b", "b"), 2)
    assert sorted(faults) == [0, 1]


def test_a_server_that_is_not_there_is_no_rows_fault(calls: list[list[Any]]) -> None:
    member = load(TEXT, node("Remote", preprocess=[f"{HERE}.twice"]))
    outputs, faults = run_split(member, texts("a", "bad", "c"), 3)
    assert outputs["text"].tolist() == ["aa", "badbad", "cc"]
    member = load(TEXT, node("Remote"))
    outputs, faults = run_split(member, texts("a", "bad", "c"), 3)
    assert (outputs["text"].tolist(), sorted(faults)) == (["a", "c"], [1])
    calls.clear()
    _, faults = run_split(member, texts(*"abcd", "down"), 5)
    assert {fault.code for fault in faults.values()} == {"server_unreachable"}
    assert len(calls) == 1
    _, faults = run_split(load(TEXT, node("Remote", config={"knows": False})), texts("a", "down"), 2)
    assert [(at, fault.code) for at, fault in faults.items()] == [(1, "model_error")]


def test_functions_go_around_the_handler_in_the_order_of_the_file(calls: list[list[Any]]) -> None:
    around: Node = {"preprocess": [f"{HERE}.twice", f"{HERE}.shout"], "postprocess": [f"{HERE}.unwrapped"]}
    member = load(TEXT, node(**around))
    assert member(texts("a", "b"))["text"].tolist() == ["AA", "BB"]
    assert calls == [["AA", "BB"]]


def test_a_row_on_which_a_function_fails_fails_alone(calls: list[list[Any]]) -> None:
    around: Node = {"preprocess": [f"{HERE}.shout"], "postprocess": [f"{HERE}.unwrapped", f"{HERE}.twice"]}
    member = load(TEXT, node(**around))
    outputs, faults = run_split(member, texts("a", "hush", "b"), 3)
    assert (outputs["text"].tolist(), sorted(faults), calls) == (["AA", "BB"], [1], [["A", "B"]])
    outputs, faults = run_split(load(TEXT, node(postprocess=around["postprocess"])), texts("secret", "c"), 2)
    assert (outputs["text"].tolist(), faults[0].message) == (["cc"], "KeyError: 'secret'")
    assert calls[1:] == [["secret", "c"]]


def test_a_function_may_make_the_handler_and_be_one_of_its_arguments(calls: list[list[Any]]) -> None:
    assert load(TEXT, node("make_echo", config={"prefix": "> "}))(texts("a"))["text"].tolist() == ["> A"]
    member = load(TEXT, node(functions={"function": f"{HERE}.twice"}))
    assert member(texts("a"))["text"].tolist() == ["aa"]


def test_batches_are_as_the_handler_wants_them(calls: list[list[Any]]) -> None:
    member = load(TEXT, node(config={"max_batch_size": 2}))
    assert member(texts(*"abcde"))["text"].tolist() == list("abcde")
    assert calls == [["a", "b"], ["c", "d"], ["e"]]


def test_batches_are_limited_by_weight_and_parted_by_length(calls: list[list[Any]]) -> None:
    heavy = node(config={"max_batch_weight": 5}, functions={"element_size_fn": f"{HERE}.length"})
    assert load(TEXT, heavy)(texts("aaa", "bb", "c", "dddddd"))["text"].tolist() == [
        "aaa", "bb", "c", "dddddd",
    ]  # fmt: skip
    assert calls == [["aaa", "bb"], ["c"], ["dddddd"]]
    calls.clear()
    config = {"batch_bucket_boundaries": [2]}
    long = node(config=config, functions={"batch_length_fn": f"{HERE}.length"})
    assert load(TEXT, long)(texts("aaa", "b", "cc", "d"))["text"].tolist() == ["aaa", "b", "cc", "d"]
    assert calls == [["b", "d"], ["aaa", "cc"]]


def test_every_example_is_in_one_batch() -> None:
    limits = {"max_batch_size": 3, "length_fn": len}
    examples = ["x" * size for size in range(0, 600, 7)]
    found = list(batches(examples, limits))
    assert sorted(at for batch in found for at in batch) == list(range(len(examples)))
    assert max(map(len, found)) == 3
    assert list(batches([], limits)) == []


def test_a_handler_that_takes_batches_as_they_are_gets_one(calls: list[list[Any]]) -> None:
    member = load(TEXT, node("Prebatched", config={"max_batch_size": 2}))
    assert member(texts(*"abc"))["text"].tolist() == list("abc")
    assert calls == [["a", "b", "c"]]


def test_arguments_of_a_call_reach_every_call(calls: list[list[Any]]) -> None:
    several = node(
        config={"max_batch_size": 1},
        inference_args={"times": 2},
        samples=2,
        outputs={"text": "array<string>"},
    )
    assert load(TEXT, several)(texts("a", "b"))["text"].tolist() == [["a", "a"], ["b", "b"]]


def test_another_number_of_predictions_is_misaligned() -> None:
    with pytest.raises(NodeError, match="gave 1 predictions for 2 examples") as caught:
        load(TEXT, node("Short"))(texts("a", "b"))
    assert caught.value.code == "misaligned"


def test_the_rows_list_is_the_batch_where_it_is_called_once_a_row(calls: list[list[Any]]) -> None:
    member = load({"x": "array<string>"}, node(per_row=True, outputs={"text": "array<string>"}))
    batch = {"x": np.fromiter([["a", "b"], ["c"]], dtype=object, count=2)}
    assert member(batch)["text"].tolist() == [["a", "b"], ["c"]]
    assert calls == [["a", "b"], ["c"]]


def test_environment_variables_are_set_before_the_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO", "old")
    files = Files("/", code=(f"{HERE}.*", "env:ECHO"))
    member = load(TEXT, node(config={"env_vars": {"ECHO": "seen"}}, outputs={"model": "string"}), files)
    assert member(texts("a"))["model"].tolist() == ["|seen"]


def test_the_path_of_the_file_is_the_handlers_model_path(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"weights")
    described = node(uri="model.bin", outputs={"model": "string"})
    files = Files(str(tmp_path), code=(f"{HERE}.*",))
    assert problems(TEXT, described, files) == [("untrusted_file", "uri")]
    assert problems(TEXT, described | {"uri": "modle.bin"}, files) == [("untrusted_file", "uri")]
    trusting = dataclasses.replace(files, trusted=(str(tmp_path),))
    assert problems(TEXT, described | {"uri": "modle.bin"}, trusting) == [("missing_file", "uri")]
    assert problems(TEXT, node(sha256="0" * 64)) == [("missing_key", "uri")]
    pinned = described | {"sha256": hashlib.sha256(b"weights").hexdigest()}
    found = checked(TEXT, pinned, files)
    assert KINDS["model", "python"].load(found)(texts("a"))["model"].tolist()[0].startswith("model.bin|")
    (tmp_path / "model.bin").write_bytes(b"others")
    with pytest.raises(InvalidEnsemble, match=r"\[sha256_mismatch\]"):
        KINDS["model", "python"].load(found)


def test_resources_that_it_asks_for_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        load(TEXT, node("Hungry"))
    assert "nvidia-tesla-t4" in caplog.text


@pytest.mark.parametrize(
    ("described", "code", "place"),
    [
        (node("NoHandler"), "import_failed", "handler"),
        (node("Ecko"), "import_failed", "handler"),
        (node("make_echo", config={"prefx": ">"}), "signature_mismatch", "config"),
        (node(functions={"function": f"{HERE}.twise"}), "import_failed", "functions.function"),
        (node(inference_args={"time": 2}), "load_failed", "handler"),
    ],
)
def test_what_only_a_worker_finds_is_one_sentence(described: Node, code: str, place: str) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        load(TEXT, described)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [
        (code, f"nodes.node.{place}")
    ]


@pytest.mark.parametrize(
    ("described", "problem"),
    [
        (node() | {"handler": "os.system"}, ("untrusted_code", "handler")),
        (node() | {"handler": "Echo"}, ("bad_name", "handler")),
        (node(functions={"function": "os.system"}), ("untrusted_code", "functions.function")),
        (node(functions={"function": 3}), ("wrong_type", "functions.function")),
        (node(preprocess=["os.remove"]), ("untrusted_code", "preprocess[0]")),
        (node(postprocess=[f"{HERE}.twice", "shutil.rmtree"]), ("untrusted_code", "postprocess[1]")),
        (node(outputs={"text": None}), ("missing_type", "outputs.text")),
        (node(config={"min_batch_size": 3}), ("unsupported_option", "config.min_batch_size")),
        (node(config={"element_size_fn": "len"}), ("unsupported_option", "config.element_size_fn")),
        (node(config={"max_batch_size": 0}), ("bad_value", "config.max_batch_size")),
        (node(inputs=["x", "x2"]), ("type_mismatch", "inputs[0]")),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_imported(described: Node, problem: tuple[str, str]) -> None:
    assert problem in problems(TEXT | {"x2": "string"} if "x2" in described["inputs"] else TEXT, described)


def test_somebody_who_runs_his_own_file_may_name_anything() -> None:
    assert checked(TEXT, node(), Files(code=ANYTHING)).outputs


def test_an_argument_may_be_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    described = node(config={"prefix": {"secret": "env:ECHO_KEY"}})
    assert problems(TEXT, described) == [("untrusted_secret", "config.prefix")]
    files = Files(code=(f"{HERE}.*",), secrets=("env:ECHO_KEY",))
    with pytest.raises(InvalidEnsemble, match="'ECHO_KEY'") as caught:
        load(TEXT, described, files)
    assert caught.value.problems[0].code == "missing_secret"
    monkeypatch.setenv("ECHO_KEY", "key ")
    assert load(TEXT, described, files)(texts("a"))["text"].tolist() == ["key a"]


@pytest.mark.parametrize(
    "described",
    [
        {"model": "python", "handler": f"{HERE}.Sorted"},
        {"model": "python", "handler": f"{HERE}.Echo", "preprocess": [f"{HERE}.sum_of_sorted"]},
        {"apply": "python", "function": f"{HERE}.sums_of_sorted"},
    ],
)
@pytest.mark.parametrize("type_", ["array<double>", "array<double>[2]"])
def test_code_that_changes_its_rows_changes_them_for_itself_alone(described: Node, type_: str) -> None:
    is_echo = described.get("handler", "").endswith("Echo")
    output: Node = {"text": "string"} if is_echo else {"y": "double"}
    node_ = checked(
        {"x": type_}, {"inputs": ["x"], "outputs": output, **described}, Files(code=(f"{HERE}.*",))
    )
    member = node_.kind.load(node_)
    rows = [[2.0, 1.0], [-1.0, 3.0], [5.0, 4.0]]
    column = np.array(rows) if type_.endswith("]") else np.fromiter(rows, dtype=object, count=3)
    before = json.dumps([list(row) for row in column])
    column.setflags(write=False)  # as a batch has it
    found, faults = run_split(member, {"x": column}, 3)
    more = 0.0 if type_.endswith("]") else 100.0
    assert list(faults) == [1], faults
    assert json.dumps([list(row) for row in column]) == before
    if not is_echo:
        assert found["y"].tolist() == [3.0 + more, 9.0 + more]
