"""Reads what a SavedModel takes and gives off its ``saved_model.pb``, without TensorFlow and without its weights.

Field numbers are those of TensorFlow's protocol buffers: SavedModel.meta_graphs is 2; MetaGraphDef.meta_info_def 1 (its
tags 4), signature_def 5; SignatureDef.inputs 1, outputs 2.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.files.local_files import TooMuch, contents
from beam_ensembles.handlers.support.file_bytes import FileBytes, opened_bytes
from beam_ensembles.handlers.support.protobuf_wire import Span, WireError, fields, first_number, spans
from beam_ensembles.handlers.support.signatures import (
    TENSORS,
    Port,
    Signature,
)
from beam_ensembles.handlers.tensorflow.saved_model_code import unsafe_parts

FILE: Final = "saved_model.pb"
_SERVE: Final = "serve"
_INTERNAL: Final = "__saved_model_init_op"
"""A signature that TensorFlow itself adds."""

ELEMENTS: Final[Mapping[int, str]] = {
    1: "float", 2: "double", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 9: "int64", 10: "boolean",
    14: "float", 17: "uint16", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
"""TensorFlow's DataType -> the type's name in an ensemble file; bfloat16 (14) is given and taken as ``float``."""

_RAGGED: Final = 3
"""TypeSpecProto.TypeSpecClass of a ragged tensor."""


@dataclasses.dataclass(frozen=True, slots=True)
class SavedModel:
    """What a SavedModel says of itself.

    Attributes:
        signatures: What can be called, by name.
        unsafe: What of it may do more than compute (``saved_model_code``), and links that lead out of its folder.
    """

    signatures: Mapping[str, Signature]
    unsafe: tuple[str, ...]


def read_saved_model(folder: str) -> SavedModel:
    """Reads the signatures of a SavedModel.

    Args:
        folder: Where it is.

    Raises:
        ModelFormatError: There is none.
        OSError: It cannot be read.
    """
    path = os.path.join(folder, FILE)
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        raise ModelFormatError(f"the folder holds no SavedModel (there is no {FILE} in it)")
    with opened_bytes(path) as data:
        try:
            found = _saved_model(data)
        except (WireError, UnicodeDecodeError) as exc:
            raise ModelFormatError(f"its {FILE} is damaged ({exc})") from exc
    return dataclasses.replace(found, unsafe=(*found.unsafe, *strays_of(folder)))


def strays_of(folder: str) -> tuple[str, ...]:
    """Returns the links of a folder that lead out of it, and entries that are not files."""
    try:
        return contents(folder).strays
    except TooMuch as exc:
        return (f"{exc}, and is not checked",)


def _saved_model(data: FileBytes) -> SavedModel:
    graphs = list(spans(data, (0, len(data)), 2))
    served = [graph for graph in graphs if _SERVE in _tags(data, graph)]
    if not served:
        raise ModelFormatError(f"its {FILE} holds no graph for serving")
    found: dict[str, Signature] = {}
    for entry in spans(data, served[0], 5):
        name, signature = _text(data, entry, 1), next(spans(data, entry, 2), None)
        if signature is not None and name != _INTERNAL:
            found[name] = Signature(_ports(data, signature, 1), _ports(data, signature, 2))
    return SavedModel(found, unsafe_parts(data, graphs))


def _tags(data: FileBytes, graph: Span) -> set[str]:
    info = next(spans(data, graph, 1), None)
    return set() if info is None else {data[start:end].decode() for start, end in spans(data, info, 4)}


def _ports(data: FileBytes, signature: Span, number: int) -> tuple[Port, ...]:
    """Reads a map of names to TensorInfo, in the order of the names, as TensorFlow itself lists them."""
    found = {}
    for entry in spans(data, signature, number):
        info = next(spans(data, entry, 2), None)
        if info is not None:
            found[_text(data, entry, 1)] = info
    return tuple(_port(data, name, found[name]) for name in sorted(found))


def _port(data: FileBytes, name: str, info: Span) -> Port:
    """Reads a TensorInfo: name 1 (of plain tensors), dtype 2, tensor_shape 3, composite_tensor 5."""
    if next(spans(data, info, 1), None) is None:
        composite = next(spans(data, info, 5), None)
        return Port(name, None, None) if composite is None else _composite(data, name, composite)
    shape = next(spans(data, info, 3), None)
    element = ELEMENTS.get(first_number(data, info, 2))
    return Port(name, element, None if shape is None else _dims(data, shape))


def _composite(data: FileBytes, name: str, composite: Span) -> Port:
    """Reads a CompositeTensor: type_spec 1 (its class 1), components 2; a ragged tensor's first are its values."""
    spec, values = next(spans(data, composite, 1), None), next(spans(data, composite, 2), None)
    if spec is None or values is None or first_number(data, spec, 1) != _RAGGED:
        return Port(name, None, None)
    return Port(name, ELEMENTS.get(first_number(data, values, 2)), None, TENSORS)


def _dims(data: FileBytes, shape: Span) -> tuple[int | None, ...] | None:
    """Reads a TensorShapeProto: dim 2 (its size 1, -1 where it is not fixed), unknown_rank 3."""
    if any(number == 3 and value and end < 0 for number, value, end in fields(data, *shape)):
        return None
    found = []
    for dim in spans(data, shape, 2):
        size = first_number(data, dim, 1)
        found.append(size if 0 < size < 1 << 62 else None)
    return tuple(found)


def _text(data: FileBytes, span: Span, wanted: int) -> str:
    found = next(spans(data, span, wanted), None)
    return "" if found is None else data[found[0] : found[1]].decode()
