"""What a node sends to its server, and what it makes of the answer."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import CheckedNode, Member
from beam_ensembles.handlers.open_inference.failures import CallError
from beam_ensembles.handlers.open_inference.metadata import read_metadata
from beam_ensembles.handlers.open_inference.tensors import values_of
from beam_ensembles.registry import KINDS
from beam_ensembles.types import NUMPY_DTYPES, parse_type
from tests.support.certificates import make_certificate
from tests.support.nodes import check_node, load_node, problems_of
from tests.support.open_inference import FakeServer, Model, Tensors, node, served

PAIR = {"x": "array<double>[2]"}
NUMBERS = {
    "boolean": "BOOL", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8",
    "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "float16": "FP16", "float": "FP32",
    "double": "FP64",
}  # fmt: skip
TENSORS = [(element, raw) for element in NUMBERS for raw in (True, False) if raw or element != "float16"]
"""The protocol has no list of FP16 values."""


def loaded(inputs: dict[str, str], node: dict[str, Any]) -> Member:
    return load_node(Path("/"), inputs, node)


def same(given: Tensors) -> Tensors:
    return {"y": given["x"]}


@pytest.mark.parametrize(("element", "raw"), TENSORS)
def test_numbers_of_every_type_go_there_and_back(element: str, raw: bool) -> None:
    dtype = NUMPY_DTYPES[element]
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype) if dtype.kind in "iu" else None
    extremes = [0, 1] if limits is None else [limits.min, limits.max]
    x = np.array([[*extremes, 1], [1, 0, 0]], dtype)
    tensor = parse_type(f"array<{element}>[3]")
    with served({"echo": Model(same, raw=raw)}) as server:
        uri = server.uri("echo")
        spec = check_node(
            Path("/"), {"x": "double"}, node(uri, inputs={"x": "x"}, outputs={"y": "double"})
        ).spec
        checked = CheckedNode(spec, KINDS[spec.kind, spec.target], {"x": tensor}, {"y": tensor}, uri, "test")
        answer = KINDS["model", "open_inference"].load(checked)({"x": x})["y"]
    np.testing.assert_array_equal(answer, x, strict=True)
    assert server.calls[0].datatypes == {"x": NUMBERS[element]}


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(
    ("type_", "values"), [("string", ["", "zwölf", "a\0b"]), ("bytes", [b"", b"\xff\0", b"b"])]
)
def test_texts_and_bytes_go_there_and_back(type_: str, values: list[Any], raw: bool) -> None:
    words = Model(same, [("x", "BYTES", [-1, 1])], [("y", "BYTES", [-1, 1])], raw=raw)
    with served({"words": words}) as server:
        member = loaded({"x": type_}, node(server.uri("words"), outputs={"y": type_}))
        answer = member({"x": np.array(values, object)})["y"]
        assert answer.tolist() == values
        assert server.calls[0].tensors["x"].shape == (3, 1)


def test_lists_of_texts_come_back() -> None:
    letters = Model(
        lambda given: {"y": np.array([list(text.decode()) for text in given["x"].tolist()], object)},
        [("x", "BYTES", [-1])],
        [("y", "BYTES", [-1, -1])],
    )
    with served({"letters": letters}) as server:
        member = loaded({"x": "string"}, node(server.uri("letters"), outputs={"y": "array<string>"}))
        assert member({"x": np.array(["ab", "cd"], object)})["y"].tolist() == [["a", "b"], ["c", "d"]]


def test_bytes_that_are_no_text_are_a_fault_of_their_row() -> None:
    with served({"words": Model(same, [("x", "BYTES", [-1])], [("y", "BYTES", [-1])])}) as server:
        member = loaded({"x": "bytes"}, node(server.uri("words")))
        _, faults = run_split(member, {"x": np.array([b"a", b"\xff", b"c"], object)}, 3)
        assert [(at, error.code) for at, error in faults.items()] == [(1, "bad_output")]


def test_columns_are_joined_and_cast_as_the_model_wants(server: FakeServer) -> None:
    member = loaded({"a": "int32", "b": "float"}, node(server.uri("double"), inputs=["a", "b"]))
    answer = member({"a": np.array([1, 2], np.int32), "b": np.array([0.5, 3], np.float32)})["y"]
    np.testing.assert_array_equal(answer, np.array([[2, 1], [4, 6]], np.float32), strict=True)
    assert server.calls[0].outputs == ["y"]


def test_named_inputs_and_several_outputs(server: FakeServer) -> None:
    outputs = {"total": {"from": "sum", "type": "double"}, "difference": "array<double>[1]"}
    member = loaded(
        {"p": "double", "q": "float"}, node(server.uri("two"), inputs={"b": "q", "a": "p"}, outputs=outputs)
    )
    answer = member({"p": np.array([5.0, 6]), "q": np.array([1, 2], np.float32)})
    assert answer["total"].tolist() == [6, 8]
    assert answer["difference"].tolist() == [[4], [4]]
    assert sorted(server.calls[0].outputs) == ["difference", "sum"]


def test_a_model_of_half_precision_takes_what_fits(server: FakeServer) -> None:
    member = loaded(PAIR, node(server.uri("half"), outputs={"y": "array<float>[2]"}))
    assert member({"x": np.array([[0.5, 1024]])})["y"].tolist() == [[0.5, 1024]]
    with pytest.raises(NodeError, match="too large") as caught:
        member({"x": np.array([[0.5, 1e6]])})
    assert caught.value.code == "wrong_value"


def test_lists_of_any_length_and_the_only_output_of_a_model_that_says_nothing(server: FakeServer) -> None:
    member = loaded(PAIR, node(server.uri("silent"), inputs={"x": "x"}, outputs={"z": "array<double>"}))
    assert member({"x": np.array([[1.0, 2], [3, 4]])})["z"].tolist() == [[2, 4], [6, 8]]
    assert server.calls[0].datatypes == {"x": "FP64"}
    assert server.calls[0].outputs == []


def test_each_row_may_be_a_call_of_its_own(server: FakeServer) -> None:
    several = {"x": "array<array<float>[2]>"}
    member = loaded(
        several, node(server.uri("double"), per_row=True, outputs={"y": "array<array<float>[2]>"})
    )
    column = np.empty(2, object)
    column[:] = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]
    assert member({"x": column})["y"].tolist() == [[[2, 4], [6, 8]], [[10, 12]]]
    assert [len(call) for call in server.calls] == [2, 1]


def test_several_answers_a_row_are_put_together() -> None:
    thrice = Model(
        lambda given: {"y": np.repeat(given["x"], 3)}, [("x", "FP64", [-1])], [("y", "FP64", [-1])]
    )
    with served({"thrice": thrice}) as server:
        several = node(server.uri("thrice"), samples=3, outputs={"y": "array<double>[3]"})
        assert loaded({"x": "double"}, several)({"x": np.array([1.0, 2.0])})["y"].tolist() == [
            [1] * 3,
            [2] * 3,
        ]


def test_version_headers_and_parameters_reach_the_server(server: FakeServer) -> None:
    config = {"headers": {"X-Tenant": "blue"}, "compression": "gzip", "env_vars": {}}
    args = {"a": "text", "b": True, "c": 3, "d": 0.5}
    member = loaded(PAIR, node(server.uri("versioned/3"), config=config, inference_args=args))
    member({"x": np.ones((1, 2))})
    assert server.calls[0].headers["x-tenant"] == "blue"
    assert server.calls[0].parameters == args


def test_a_header_may_be_a_secret_that_only_workers_know(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "geheim")
    config = {"headers": {"Authorization": {"secret": "env:TEST_TOKEN", "prefix": "Bearer "}}}
    secret = node(server.uri("double"), outputs={"y": "array<float>[2]"}, config=config)
    checked = check_node(Path("/"), PAIR, secret)
    assert server.asked == 0
    assert b"geheim" not in pickle.dumps(checked)
    loaded(PAIR, secret)({"x": np.ones((1, 2))})
    assert server.asked == 1
    assert server.calls[0].headers["authorization"] == "Bearer geheim"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, ("missing_secret", "nodes.node.config.headers.authorization")),
        ("two\nlines", ("load_failed", "nodes.node.config.headers.authorization")),
    ],
)
def test_a_secret_that_is_no_header(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, value: str | None, problem: tuple[str, str]
) -> None:
    config = {"headers": {"authorization": {"secret": "env:TEST_TOKEN"}}}
    monkeypatch.delenv("TEST_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("TEST_TOKEN", value)
    with pytest.raises(InvalidEnsemble) as caught:
        loaded(PAIR, node(server.uri("double"), outputs={"y": "array<float>[2]"}, config=config))
    assert [(found.code, found.path) for found in caught.value.problems] == [problem]
    assert "lines" not in str(caught.value)


def test_an_output_that_the_server_leaves_out_is_named(server: FakeServer) -> None:
    member = loaded(
        PAIR,
        node(
            server.uri("silent"),
            inputs={"x": "x"},
            outputs={"y": "array<double>", "z": {"from": "z", "type": "double"}},
        ),
    )
    with pytest.raises(NodeError, match="returned no 'z'") as caught:
        member({"x": np.ones((1, 2))})
    assert caught.value.code == "bad_output"


def test_another_number_of_answers_than_rows_is_refused(server: FakeServer) -> None:
    member = loaded({"x": "double"}, node(server.uri("short")))
    with pytest.raises(NodeError) as caught:
        member({"x": np.ones(3)})
    assert caught.value.code == "misaligned"


def test_answers_that_are_cut_short_are_an_error() -> None:
    truncated = Response([Output("y", "FP32", [2])], [b"1234567"])
    with pytest.raises(NodeError, match=r"'y' of FP32 \[2\] cannot be read") as caught:
        values_of(truncated)
    assert caught.value.code == "bad_output"
    text = Response([Output("y", "BYTES", [1])], [b"\x05\0\0\0abc"])
    with pytest.raises(NodeError, match="ends at byte 9 of 7"):
        values_of(text)


@dataclasses.dataclass
class Output:
    name: str
    datatype: str
    shape: list[int]


@dataclasses.dataclass
class Response:
    outputs: list[Output]
    raw_output_contents: list[bytes]


def test_metadata_that_are_none_are_refused() -> None:
    with pytest.raises(CallError, match="Open Inference Protocol"):
        read_metadata(b"\x22\xff\x01")


def test_threads_share_one_channel(server: FakeServer) -> None:
    member = loaded(PAIR, node(server.uri("double")))
    batches = [{"x": np.full((3, 2), float(at))} for at in range(64)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(member, batches))
    assert [answer["y"][0, 0] for answer in answers] == [2.0 * at for at in range(64)]
    assert len(server.calls) == 64


def test_the_channel_is_closed_with_the_member(server: FakeServer) -> None:
    member: Any = loaded(PAIR, node(server.uri("double")))
    channel = member.model._channel
    member({"x": np.ones((1, 2))})
    del member
    gc.collect()
    with pytest.raises(ValueError, match="closed"):
        channel.unary_unary("/any")(b"")


@pytest.mark.parametrize("mutual", [False, True])
def test_tls_with_and_without_a_certificate_of_the_client(tmp_path: Path, mutual: bool) -> None:
    key, certificate = make_certificate(tmp_path, "localhost")
    own_key, own_certificate = make_certificate(tmp_path, "client")
    secret = grpc.ssl_server_credentials(
        [(key.read_bytes(), certificate.read_bytes())],
        own_certificate.read_bytes() if mutual else None,
        require_client_auth=mutual,
    )
    config = {"root_certificates": str(certificate)}
    own = {"private_key": str(own_key), "certificate_chain": str(own_certificate)}
    double = Model(lambda given: {"y": given["x"] * 2}, [("x", "FP64", [-1])], [("y", "FP64", [-1])])
    with served({"double": double}, credentials=secret) as server:
        secure = node(server.uri("double", "grpcs"), config=config | (own if mutual else {}))
        member = load_node(tmp_path, {"x": "double"}, secure)
        assert member({"x": np.array([1.0, 2])})["y"].tolist() == [2, 4]
        plain = node(server.uri("double", "grpcs"), config=config if mutual else {})
        assert ("server_unreachable", "uri") in problems_of(tmp_path, {"x": "double"}, plain)


def test_a_certificate_that_the_worker_lacks_is_named(tmp_path: Path, server: FakeServer) -> None:
    config = {"root_certificates": str(tmp_path / "ca.pem")}
    typed = node(server.uri("double", "grpcs"), config=config, outputs={"y": "array<float>[2]"})
    with pytest.raises(InvalidEnsemble, match=r"ca\.pem") as caught:
        load_node(tmp_path, PAIR, typed)
    assert [problem.code for problem in caught.value.problems] == ["load_failed"]


def test_a_worker_without_the_client_says_what_to_install(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tritonclient.grpc", None)
    with pytest.raises(InvalidEnsemble, match=r"pip install 'beam-ensembles\[open_inference\]'"):
        loaded(PAIR, node(server.uri("double")))


def test_a_model_that_has_changed_since_the_check_is_refused_when_loaded(server: FakeServer) -> None:
    checked = check_node(Path("/"), PAIR, node(server.uri("double")))
    server.models["double"] = Model(same, [("x", "FP32", [-1, 3])], [("y", "FP32", [-1, 3])])
    with pytest.raises(InvalidEnsemble) as caught:
        KINDS["model", "open_inference"].load(checked)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [
        ("signature_mismatch", "nodes.node.inputs")
    ]
