"""A server of the Open Inference Protocol v2 over gRPC, in the test's own process."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from typing import Any

import grpc
import numpy as np
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import (
    deserialize_bytes_tensor,
    np_to_triton_dtype,
    serialize_byte_tensor,
    triton_to_np_dtype,
)

Values = np.ndarray[Any, np.dtype[Any]]
Tensors = Mapping[str, Values]

_TYPED = {
    "BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip


class Refusal(Exception):
    """What a model raises to have the call refused with a status."""

    def __init__(self, status: grpc.StatusCode, text: str = "no") -> None:
        self.status = status
        super().__init__(text)


@dataclasses.dataclass
class Model:
    """A model of the server.

    Attributes:
        function: Its inputs by name to its outputs by name.
        inputs: What its metadata say that it takes: name, datatype, shape with -1 for any length.
        outputs: What they say that it gives.
        raw: Whether answers hold raw bytes, or lists of values.
        version: The only version, or empty: any.
    """

    function: Callable[[Tensors], Tensors]
    inputs: Sequence[tuple[str, str, Sequence[int]]] = ()
    outputs: Sequence[tuple[str, str, Sequence[int]]] = ()
    raw: bool = True
    version: str = ""


@dataclasses.dataclass
class Call:
    """What one ModelInfer held.

    Attributes:
        tensors: Its inputs.
        datatypes: Their datatypes.
        outputs: The outputs asked for.
        parameters: Its parameters.
        headers: Its metadata.
    """

    tensors: Tensors
    datatypes: Mapping[str, str]
    outputs: list[str]
    parameters: Mapping[str, Any]
    headers: Mapping[str, Any]

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))


@dataclasses.dataclass
class FakeServer(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """The server's state.

    Attributes:
        models: What it serves, by name.
        calls: Every ModelInfer, those that were refused too.
        refusals: Statuses with which the next calls are refused, one each.
        asked: How often metadata were asked for.
        answers: Calls are answered while it is set.
        port: Where it listens.
    """

    models: dict[str, Model]
    calls: list[Call] = dataclasses.field(default_factory=list)
    refusals: list[grpc.StatusCode] = dataclasses.field(default_factory=list)
    asked: int = 0
    answers: threading.Event = dataclasses.field(default_factory=threading.Event)
    port: int = 0
    lock: Any = dataclasses.field(default_factory=threading.Lock)

    def uri(self, model: str, scheme: str = "grpc", host: str = "localhost") -> str:
        """Returns the address of a model."""
        return f"{scheme}://{host}:{self.port}/{model}"

    def ModelMetadata(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.asked += 1
        model = self._find(request.name, request.version, context)
        found = service_pb2.ModelMetadataResponse(name=request.name, platform="test")
        for place, tensors in ((found.inputs, model.inputs), (found.outputs, model.outputs)):
            for name, datatype, shape in tensors:
                place.add(name=name, datatype=datatype, shape=shape)
        return found

    def ModelInfer(self, request: Any, context: grpc.ServicerContext) -> Any:
        model = self._find(request.model_name, request.model_version, context)
        call = _read(request, context)
        with self.lock:
            self.calls.append(call)
            refusal = self.refusals.pop(0) if self.refusals else None
        self.answers.wait()
        if refusal is not None:
            context.abort(refusal, "told to")
        try:
            answers = model.function(call.tensors)
        except Refusal as exc:
            context.abort(exc.status, str(exc))
        wanted = call.outputs or list(answers)
        return _written(request, {name: answers[name] for name in wanted if name in answers}, model.raw)

    def _find(self, name: str, version: str, context: grpc.ServicerContext) -> Model:
        model = self.models.get(name)
        if model is None or version not in ("", model.version):
            context.abort(grpc.StatusCode.NOT_FOUND, f"no model '{name}' of version '{version}'")
            raise AssertionError
        return model


def _read(request: Any, context: grpc.ServicerContext) -> Call:
    tensors = {}
    for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True):
        dtype = triton_to_np_dtype(tensor.datatype)
        flat = deserialize_bytes_tensor(raw) if tensor.datatype == "BYTES" else np.frombuffer(raw, dtype)
        tensors[tensor.name] = flat.reshape(tuple(tensor.shape))
    parameters = {
        name: getattr(value, value.WhichOneof("parameter_choice"))
        for name, value in request.parameters.items()
    }
    datatypes = {tensor.name: tensor.datatype for tensor in request.inputs}
    headers = dict(context.invocation_metadata() or ())
    return Call(tensors, datatypes, [output.name for output in request.outputs], parameters, headers)


def _written(request: Any, answers: Tensors, raw: bool) -> Any:
    response = service_pb2.ModelInferResponse(model_name=request.model_name)
    for name, values in answers.items():
        datatype = np_to_triton_dtype(values.dtype)
        output = response.outputs.add(name=name, datatype=datatype, shape=values.shape)
        if raw:
            is_text = datatype == "BYTES"
            is_whole = is_text and values.size > 0
            response.raw_output_contents.append(
                serialize_byte_tensor(values).item() if is_whole else values.tobytes()
            )
        else:
            getattr(output.contents, _TYPED[datatype]).extend(values.reshape(-1).tolist())
    return response


def node(uri: str, **more: Any) -> dict[str, Any]:
    """Returns a node that asks a server once, of one input ``x`` and one output ``y``, unless told otherwise."""
    return {
        "model": "open_inference",
        "uri": uri,
        "inputs": ["x"],
        "outputs": {"y": None},
        "retries": 0,
    } | more


@contextlib.contextmanager
def served(
    models: Mapping[str, Model],
    *,
    credentials: grpc.ServerCredentials | None = None,
    options: Sequence[tuple[str, Any]] = (),
    port: int = 0,
) -> Iterator[FakeServer]:
    """Serves models on a free port of this machine, or on a given one, until the block ends."""
    fake = FakeServer(dict(models))
    # Two servers could else share one port, and a test would not notice which one answers.
    server = grpc.server(futures.ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0), *options])
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(fake, server)
    place = f"localhost:{port}"
    bound = (
        server.add_insecure_port(place) if credentials is None else server.add_secure_port(place, credentials)
    )
    fake.port = bound
    fake.answers.set()
    server.start()
    try:
        yield fake
    finally:
        fake.answers.set()
        server.stop(0).wait()
