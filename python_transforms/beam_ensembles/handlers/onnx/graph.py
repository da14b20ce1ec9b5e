"""Reads what an ONNX model takes and gives, without onnx and without its weights.

Field numbers are those of ``onnx.proto`` (ModelProto.graph is 7, GraphProto.initializer 5, input 11, output
12).
"""

from __future__ import annotations

import dataclasses
from typing import Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.onnx.opening import opened
from beam_ensembles.handlers.support.file_bytes import FileBytes
from beam_ensembles.handlers.support.protobuf_wire import Span, fields, first_number, spans
from beam_ensembles.handlers.support.signatures import (
    TENSORS,
    Port,
    Signature,
)

_ELEMENTS: Final = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string",
    9: "boolean", 10: "float16", 11: "double", 12: "uint32", 13: "uint64",
}  # fmt: skip
"""TensorProto.DataType -> the type's name in an ensemble file."""

_OPTIONAL_SINCE: Final = 4
"""The IR version since which an input that has a weight of its name may be given in its place; before, graphs named all
their weights among their inputs."""


def read_signature(path: str) -> Signature:
    """Reads the signature of a model file.

    Raises:
        ModelFormatError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    with opened(path) as data:
        return _signature(data)


def _signature(data: FileBytes) -> Signature:
    graph = next(spans(data, (0, len(data)), 7), None)
    if graph is None:
        raise ModelFormatError("the file is not an ONNX model (there is no graph in it)")
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
        raise ModelFormatError("the file is not an ONNX model (its graph gives nothing)")
    overridable = first_number(data, (0, len(data)), 1) >= _OPTIONAL_SINCE
    given = [
        dataclasses.replace(port, is_optional=True) if port.name in constants else port
        for port in inputs
        if overridable or port.name not in constants
    ]
    return Signature(tuple(given), tuple(outputs))


def _constant(data: FileBytes, span: Span) -> str:
    """Reads a TensorProto's name, 8."""
    return _text(data, span, 8)


def _port(data: FileBytes, span: Span) -> Port:
    """Reads a ValueInfoProto: name 1, type 2."""
    name = _text(data, span, 1)
    type_ = next(spans(data, span, 2), None)
    return Port(name, None, None) if type_ is None else _of_type(data, type_, name)


def _of_type(data: FileBytes, type_: Span, name: str) -> Port:
    """Reads a TypeProto: tensor_type 1, sequence_type 4, map_type 5, optional_type 9; the last two hold a type in 1."""
    optional = next((found for kind in spans(data, type_, 9) for found in spans(data, kind, 1)), None)
    if optional is not None:
        return dataclasses.replace(_of_type(data, optional, name), is_optional=True)
    sequence = next((found for kind in spans(data, type_, 4) for found in spans(data, kind, 1)), None)
    if sequence is not None:
        return _of_items(data, sequence, name)
    tensor = next(spans(data, type_, 1), None)
    if tensor is None:
        return Port(name, None, None)
    shape = next(spans(data, tensor, 2), None)
    dims = None if shape is None else tuple(_dim(data, dim) for dim in spans(data, shape, 1))
    return Port(name, _ELEMENTS.get(first_number(data, tensor, 1)), dims)


def _of_items(data: FileBytes, item: Span, name: str) -> Port:
    """Reads the type of a sequence's items: a tensor, or a map (key_type 1, value_type 2) to tensors."""
    mapping = next(spans(data, item, 5), None)
    if mapping is None:
        of_item = _of_type(data, item, name)
        return Port(name, None if of_item.items else of_item.element, None, TENSORS)
    key, value = _ELEMENTS.get(first_number(data, mapping, 1)), next(spans(data, mapping, 2), None)
    return Port(name, None if value is None else _of_type(data, value, name).element, None, key)


def _dim(data: FileBytes, span: Span) -> int | None:
    """Reads a Dimension: dim_value 1; a dim_param is a length that is not fixed."""
    value = first_number(data, span, 1)
    return value if 0 < value < 1 << 62 else None


def _text(data: FileBytes, span: Span, wanted: int) -> str:
    found = next(spans(data, span, wanted), None)
    return "" if found is None else data[found[0] : found[1]].decode()
