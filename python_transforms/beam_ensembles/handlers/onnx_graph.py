"""Reads what an ONNX model takes and gives, without onnx and without its weights.

Field numbers are those of ``onnx.proto`` (ModelProto.graph is 7, GraphProto.initializer 5, input 11, output
12).
"""

from __future__ import annotations

import dataclasses
import mmap
import os
from collections.abc import Iterator
from typing import Final

from beam_ensembles.handlers.wire import WireError, fields

_ELEMENTS: Final = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string",
    9: "boolean", 10: "float16", 11: "double", 12: "uint32", 13: "uint64",
}  # fmt: skip
"""TensorProto.DataType -> the type's name in an ensemble file."""

_EXTERNAL: Final = 1
Span = tuple[int, int]


class ModelFormatError(ValueError):
    """The file is not a model of the expected format."""


@dataclasses.dataclass(frozen=True, slots=True)
class Port:
    """An input or an output of a graph.

    Attributes:
        name: Its name.
        element: The type of its values, or None where it is no tensor of a type that an ensemble file knows.
        dims: Its shape with the leading dimension of the rows; a length that is not fixed is None; None
            altogether where the graph does not say.
    """

    name: str
    element: str | None
    dims: tuple[int | None, ...] | None


@dataclasses.dataclass(frozen=True, slots=True)
class Signature:
    """What a graph takes and gives.

    Attributes:
        inputs: What it must be given.
        outputs: What it gives.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def read_signature(path: str) -> Signature:
    """Reads the signature of a model file.

    Raises:
        ModelFormatError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    if os.path.getsize(path) == 0:
        raise ModelFormatError("the file is empty")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _signature(data)
        except (WireError, UnicodeDecodeError) as exc:
            raise ModelFormatError(f"the file is no ONNX model ({exc})") from exc


def _signature(data: mmap.mmap) -> Signature:
    graph = next(_spans(data, (0, len(data)), 7), None)
    if graph is None:
        raise ModelFormatError("the file is no ONNX model (there is no graph in it)")
    inputs: list[Port] = []
    outputs: list[Port] = []
    constants: set[str] = set()
    for number, start, end in fields(data, *graph):
        if end < 0:
            continue
        if number == 5:
            constants.add(_constant(data, (start, end)))
        elif number == 11:
            inputs.append(_port(data, (start, end)))
        elif number == 12:
            outputs.append(_port(data, (start, end)))
    if not outputs:
        raise ModelFormatError("the file is no ONNX model (its graph gives nothing)")
    # Before IR version 4 a graph named its own weights among its inputs.
    return Signature(tuple(port for port in inputs if port.name not in constants), tuple(outputs))


def _constant(data: mmap.mmap, span: Span) -> str:
    """Reads a TensorProto's name, 8; data_location 14 says whether its values are in the file."""
    name = ""
    for number, value, end in fields(data, *span):
        if number == 8 and end >= 0:
            name = data[value:end].decode()
        elif number == 14 and value == _EXTERNAL:
            raise ModelFormatError("the model keeps its weights in other files; save it as one file")
    return name


def _port(data: mmap.mmap, span: Span) -> Port:
    """Reads a ValueInfoProto: name 1, type 2; TypeProto.tensor_type 1."""
    name = _text(data, span, 1)
    tensor = next((found for type_ in _spans(data, span, 2) for found in _spans(data, type_, 1)), None)
    if tensor is None:
        return Port(name, None, None)
    element = next((value for number, value, end in fields(data, *tensor) if number == 1 and end < 0), 0)
    shape = next(_spans(data, tensor, 2), None)
    dims = None if shape is None else tuple(_dim(data, dim) for dim in _spans(data, shape, 1))
    return Port(name, _ELEMENTS.get(element), dims)


def _dim(data: mmap.mmap, span: Span) -> int | None:
    """Reads a Dimension: dim_value 1; a dim_param is a length that is not fixed."""
    value = next((value for number, value, end in fields(data, *span) if number == 1 and end < 0), 0)
    return value if 0 < value < 1 << 62 else None


def _spans(data: mmap.mmap, span: Span, wanted: int) -> Iterator[Span]:
    return ((start, end) for number, start, end in fields(data, *span) if number == wanted and end >= 0)


def _text(data: mmap.mmap, span: Span, wanted: int) -> str:
    found = next(_spans(data, span, wanted), None)
    return "" if found is None else data[found[0] : found[1]].decode()
