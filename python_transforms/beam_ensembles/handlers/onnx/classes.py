"""Reads the classes that an ONNX model tells apart, without onnx and without its weights.

Converters write them into the operators that classify, into the one that makes a mapping of each row's probabilities
(``ZipMap``), and into a constant from which the label is taken by its position. Field numbers are those of
``onnx.proto``: GraphProto.node is 1, initializer 5; NodeProto.input 1, output 2, op_type 4, attribute 5;
AttributeProto.name 1, ints 8, strings 9; TensorProto.data_type 2, int32_data 5, string_data 6, int64_data 7, name 8,
raw_data 9.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.graph.class_meanings import LABELS, SCORES, Meaning, of_classes
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.handlers.onnx.opening import opened
from beam_ensembles.handlers.support.file_bytes import FileBytes
from beam_ensembles.handlers.support.protobuf_wire import Span, fields, first_number, packed, spans
from beam_ensembles.handlers.support.signatures import Port
from beam_ensembles.types import Array, Type, row_shape

Classes = tuple[Any, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Whole:
    """How a tensor has whole numbers: one's code in ``struct``, and the field for those that are not raw bytes."""

    code: str
    field: int


_MOST: Final = 1 << 20
"""More classes than that are not read."""
_LISTS: Final = ("classlabels_strings", "classlabels_ints", "classlabels_int64s")
_WHOLE: Final = {6: _Whole("i", 5), 7: _Whole("q", 7)}
"""By TensorProto.DataType: whole numbers of 32 and of 64 bits."""
_BY_POSITION: Final = "ArrayFeatureExtractor"
_PASSED_ON: Final = ("Cast", "Reshape", "Squeeze", "Flatten", "Identity")


@dataclasses.dataclass(frozen=True, slots=True)
class ModelClasses:
    """The classes of a model.

    Attributes:
        of_mappings: The classes of each output that is a mapping of each row's classes, sorted as its values are read.
        of_all: The classes of every other output that has one value per class; None where the model names none, or
            different ones.
    """

    of_mappings: Mapping[str, Classes] = dataclasses.field(default_factory=dict)
    of_all: Classes | None = None


_RAW: Final = "logits"
"""How outputs are called that hold scores before they are made probabilities."""


def meanings(
    node: NodeView | CheckedNode, classes: ModelClasses | None, ports: Mapping[str, Port]
) -> dict[str, Meaning]:
    """Returns what a model's classes mean for the columns of its node.

    Args:
        node: The node.
        classes: The model's classes; None where it was not read.
        ports: The model's output for each column, where it was read.
    """
    found = {}
    for output in node.spec.outputs:
        port, name = ports.get(output.column), output.port or output.column
        refused = f"'{name}' are scores" if name.startswith(_RAW) else ""
        known = None if classes is None or port is None else _of_port(classes, port, output.type)
        holds = LABELS if port is not None and port.element in _OF_LABELS else SCORES
        found[output.column] = of_classes(known, holds, refused, is_open=classes is None)
    return found


_OF_LABELS: Final = ("string", "int64")


def _of_port(classes: ModelClasses, port: Port, declared: Type | None) -> Classes | None:
    """Returns the classes that an output is about: of one value per class, or of a class per row."""
    if port.name in classes.of_mappings:
        return classes.of_mappings[port.name] if isinstance(declared, Array) else None
    if classes.of_all is None or port.dims is None or port.items is not None:
        return None
    if port.element in _OF_LABELS:
        is_text = isinstance(classes.of_all[0], str)
        return classes.of_all if (port.element == "string") == is_text else None
    shape = port.dims[1:]
    if shape == (None,):
        shape = () if declared is None else row_shape(declared)
    return classes.of_all if shape == (len(classes.of_all),) else None


def read_classes(path: str) -> ModelClasses:
    """Reads the classes of a model file.

    Raises:
        ModelFormatError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    with opened(path) as data:
        graph = next(spans(data, (0, len(data)), 7), None)
        return ModelClasses() if graph is None else _classes(data, graph)


def _classes(data: FileBytes, graph: Span) -> ModelClasses:
    constants = {_text(data, span, 8): span for span in spans(data, graph, 5)}
    mappings: dict[str, Classes] = {}
    found: list[Classes] = []
    makers: dict[str, tuple[str, list[str]]] = {}
    for node in spans(data, graph, 1):
        name, inputs, outputs = _text(data, node, 4), _texts(data, node, 1), _texts(data, node, 2)
        makers.update(dict.fromkeys(outputs, (name, inputs)))
        labels = _labels(data, node)
        if name == "ZipMap" and labels is not None:
            mappings.update(dict.fromkeys(outputs, tuple(sorted(labels))))
        elif name == _BY_POSITION and len(inputs) == 2 and _is_argmax(inputs[1], makers):
            labels = _constant(data, constants.get(inputs[0]))
        if labels is not None:
            found.append(labels)
    return ModelClasses(mappings, _only(found))


def _only(found: list[Classes]) -> Classes | None:
    """Returns the only classes among those that were found: within a model of texts, numbers stand for these."""
    texts = {classes for classes in found if isinstance(classes[0], str)}
    several = texts or set(found)
    return several.pop() if len(several) == 1 else None


def _labels(data: FileBytes, node: Span) -> Classes | None:
    for attribute in spans(data, node, 5):
        if _text(data, attribute, 1) in _LISTS:
            texts = _texts(data, attribute, 9)
            return tuple(texts) or tuple(_numbers(data, attribute, 8)) or None
    return None


def _is_argmax(name: str, makers: Mapping[str, tuple[str, list[str]]]) -> bool:
    for _ in range(len(_PASSED_ON)):
        operator, inputs = makers.get(name, ("", []))
        if operator == "ArgMax":
            return True
        if operator not in _PASSED_ON or not inputs:
            return False
        name = inputs[0]
    return False


def _constant(data: FileBytes, tensor: Span | None) -> Classes | None:
    if tensor is None or tensor[1] - tensor[0] > 64 * _MOST:
        return None
    texts = _texts(data, tensor, 6)
    if texts:
        return tuple(texts)
    wide = _WHOLE.get(first_number(data, tensor, 2))
    if wide is None:
        return None
    raw = next(spans(data, tensor, 9), None)
    if raw is not None:
        count = (raw[1] - raw[0]) // struct.calcsize(wide.code)
        return struct.unpack_from(f"<{count}{wide.code}", data[slice(*raw)]) or None
    return tuple(_numbers(data, tensor, wide.field)) or None


def _numbers(data: FileBytes, span: Span, wanted: int) -> Iterator[int]:
    for number, at, end in fields(data, *span):
        if number == wanted:
            for value in (at,) if end < 0 else packed(data, at, end):
                value &= (1 << 64) - 1
                yield value - (1 << 64) if value >> 63 else value


def _texts(data: FileBytes, span: Span, wanted: int) -> list[str]:
    return [data[at:end].decode(errors="replace") for at, end in spans(data, span, wanted)]


def _text(data: FileBytes, span: Span, wanted: int) -> str:
    return next(iter(_texts(data, span, wanted)), "")
