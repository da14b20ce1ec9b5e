"""Asks a server what a model takes and gives, with gRPC alone: the service has no client of any server's installed.

Method and field numbers are those of the protocol's ``grpc_service.proto`` (inference.GRPCInferenceService).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.handlers.open_inference.address import Address, credentials, headers
from beam_ensembles.handlers.open_inference.failures import UNAVAILABLE, CallError
from beam_ensembles.handlers.support.protobuf_wire import WireError, fields, packed

_METHOD: Final = "/inference.GRPCInferenceService/ModelMetadata"
_MOST_SECONDS: Final = 5.0
_INPUTS: Final = 4
_OUTPUTS: Final = 5
_MOST_TENSORS: Final = 10_000
"""Inputs and outputs that a model may have: four megabytes of an answer could name two million."""
_MOST_DIMS: Final = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Tensor:
    """An input or an output of a model.

    Attributes:
        name: Its name.
        datatype: The protocol's name of its values' type, such as ``FP32`` or ``BYTES``.
        dims: Its shape with the leading dimension of the rows; None is any length. None altogether where the server
            does not say.
    """

    name: str
    datatype: str
    dims: tuple[int | None, ...] | None


@dataclasses.dataclass(frozen=True, slots=True)
class Metadata:
    """What a server says of a model; a server may know nothing (MLServer without declared inputs).

    Attributes:
        inputs: What it takes.
        outputs: What it gives.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def ask(address: Address, config: Mapping[str, Any], seconds: float) -> Metadata:
    """Asks for a model's metadata over a connection of its own.

    Args:
        address: The model.
        config: The node's ``config``: certificates and headers.
        seconds: How long one call of the model may take; this one takes five at most.

    Returns:
        What the server says; nothing where it does not have that method.

    Raises:
        CallError: There was no answer, or none that says it.
    """
    import grpc

    with _channel(address, config) as channel:
        call = channel.unary_unary(_METHOD)
        try:
            own = tuple(headers(config).items())
            answer = call(_request(address), timeout=min(seconds, _MOST_SECONDS), metadata=own)
        except grpc.RpcError as exc:
            if exc.code() is grpc.StatusCode.UNIMPLEMENTED:
                return Metadata((), ())
            raise CallError(exc.code().name, str(exc.details())) from exc
    return read_metadata(answer)


def _channel(address: Address, config: Mapping[str, Any]) -> Any:
    import grpc

    try:
        secret = credentials(address, config)
    except OSError as exc:
        raise CallError(UNAVAILABLE, f"a certificate cannot be read here: {exc}") from exc
    if secret is None:
        return grpc.insecure_channel(address.target)
    return grpc.secure_channel(address.target, secret)


def _request(address: Address) -> bytes:
    """Writes a ModelMetadataRequest: name 1, version 2."""
    return b"".join(
        bytes([number << 3 | 2]) + _varint(len(text)) + text
        for number, text in ((1, address.model.encode()), (2, address.version.encode()))
        if text
    )


def _varint(value: int) -> bytes:
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def read_metadata(answer: bytes) -> Metadata:
    """Reads a ModelMetadataResponse.

    Raises:
        CallError: The bytes are none.
    """
    try:
        return Metadata(tuple(_tensors(answer, _INPUTS)), tuple(_tensors(answer, _OUTPUTS)))
    except (WireError, UnicodeDecodeError) as exc:
        raise CallError("DATA_LOSS", f"the answer is none of the Open Inference Protocol ({exc})") from exc


def _tensors(answer: bytes, wanted: int) -> Iterator[Tensor]:
    """Reads TensorMetadata: name 1, datatype 2, shape 3."""
    count = 0
    for number, start, end in fields(answer, 0, len(answer)):
        if number == wanted and end >= 0:
            count += 1
            if count > _MOST_TENSORS:
                raise WireError(f"more than {_MOST_TENSORS:,} tensors")
            found = list(fields(answer, start, end))
            name, datatype = (_text(answer, found, number) for number in (1, 2))
            yield Tensor(name, datatype, _dims(answer, found))


def _text(answer: bytes, found: Sequence[tuple[int, int, int]], wanted: int) -> str:
    return next((answer[at:end].decode() for number, at, end in found if number == wanted and end >= 0), "")


def _dims(answer: bytes, found: Sequence[tuple[int, int, int]]) -> tuple[int | None, ...] | None:
    values: list[int] = []
    for number, at, end in found:
        if number == 3:
            values.extend([at] if end < 0 else itertools.islice(packed(answer, at, end), _MOST_DIMS + 1))
        if len(values) > _MOST_DIMS:
            raise WireError(f"a tensor of more than {_MOST_DIMS} dimensions")
    # -1, any length, is written as the largest 64-bit number.
    return tuple(value if 0 < value < 1 << 62 else None for value in values) or None
