"""Servers of models that answer with anything."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import onnx
import pytest
from tritonclient.grpc import service_pb2

from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.handlers.open_inference import address
from beam_ensembles.handlers.open_inference.failures import CallError
from beam_ensembles.handlers.open_inference.metadata import read_metadata
from beam_ensembles.limits import LARGEST_ANSWER
from tests.support.nodes import load_node, problems_of, types_of

_TENSOR = service_pb2.ModelMetadataResponse.TensorMetadata
_ANSWERED = service_pb2.ModelInferResponse.InferOutputTensor


@pytest.fixture
def server() -> Iterator[tuple[str, list[int]]]:
    """A server whose answer to each row is two MiB of zeros; what was asked, in rows."""
    asked: list[int] = []

    def describe(request: Any, context: Any) -> Any:
        given = [_TENSOR(name="x", datatype="FP32", shape=[-1, 2])]
        return service_pb2.ModelMetadataResponse(
            name="m", inputs=given, outputs=[_TENSOR(name="y", datatype="BYTES", shape=[-1])]
        )

    def infer(request: Any, context: Any) -> Any:
        rows = request.inputs[0].shape[0]
        asked.append(rows)
        item = (2 << 20).to_bytes(4, "little") + bytes(2 << 20)
        return service_pb2.ModelInferResponse(
            outputs=[_ANSWERED(name="y", datatype="BYTES", shape=[rows])], raw_output_contents=[item * rows]
        )

    methods = {
        name: grpc.unary_unary_rpc_method_handler(
            call, of.FromString, lambda answer: answer.SerializeToString()
        )
        for name, call, of in (
            ("ModelMetadata", describe, service_pb2.ModelMetadataRequest),
            ("ModelInfer", infer, service_pb2.ModelInferRequest),
        )
    }
    options = [("grpc.max_send_message_length", -1)]
    found = grpc.server(futures.ThreadPoolExecutor(2), options=options, compression=grpc.Compression.Gzip)
    found.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("inference.GRPCInferenceService", methods)]
    )
    port = found.add_insecure_port("127.0.0.1:0")
    found.start()
    yield f"grpc://localhost:{port}/m", asked
    found.stop(None).wait()


def test_an_answer_that_unpacks_to_too_much_is_asked_for_in_parts(
    server: tuple[str, list[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """A megabyte of gzip was a gigabyte, and four in the worker."""
    uri, asked = server
    options = dict(address.CHANNEL_OPTIONS)
    assert options["grpc.max_receive_message_length"] == LARGEST_ANSWER
    options["grpc.max_receive_message_length"] = 5 << 20
    monkeypatch.setattr(
        "beam_ensembles.handlers.open_inference.calls.CHANNEL_OPTIONS", tuple(options.items())
    )
    node = {"model": "open_inference", "uri": uri, "retries": 0, "inputs": ["x"], "outputs": {"y": "bytes"}}
    member = load_node(tmp_path, {"x": "array<float>[2]"}, node)
    found, faults = run_split(member, {"x": np.zeros((4, 2), np.float32)}, 4)
    assert (asked, faults) == ([4, 2, 2], {})
    assert list(map(len, found["y"])) == [2 << 20] * 4


def _described(shape: list[int]) -> bytes:
    output = _TENSOR(name="y", datatype="FP32", shape=shape)
    return bytes(service_pb2.ModelMetadataResponse(name="m", outputs=[output]).SerializeToString())


@pytest.mark.parametrize(
    "answer",
    [b"\x2a\x00" * 1_000_000, _described([1] * 3_000_000), _described([-1] * 65)],
    ids=["tensors", "dimensions", "few dimensions"],
)
def test_a_description_without_end_is_none(answer: bytes) -> None:
    """Two million outputs took the service minutes to compare with a node's."""
    start = time.process_time()
    with pytest.raises(CallError, match=r"DATA_LOSS: .*more than"):
        read_metadata(answer)
    assert time.process_time() - start < 5


def test_a_tensor_that_a_model_gives_is_no_larger_than_one_that_a_file_declares(tmp_path: Path) -> None:
    assert read_metadata(_described([-1, 1 << 60])).outputs[0].dims == (None, 1 << 60)
    for width, wanted in ((1 << 27, None), (1 << 40, [("signature_mismatch", "outputs.y")])):
        x, y = (
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", size])
            for name, size in (("x", 1), ("y", width))
        )
        graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
        onnx.save(onnx.helper.make_model(graph), tmp_path / "m.onnx")
        node = {"model": "onnx", "uri": "m.onnx", "inputs": ["a"], "outputs": {"y": {}}}
        if wanted is None:
            assert types_of(tmp_path, {"a": "float"}, node) == {"y": f"array<float>[{width}]"}
        else:
            assert problems_of(tmp_path, {"a": "float"}, node) == wanted
