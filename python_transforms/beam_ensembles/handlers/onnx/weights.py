"""The files beside an ONNX model in which it keeps its weights: protocol buffers hold no more than 2 GiB.

Field numbers are those of ``onnx.proto``. A tensor may stand among a graph's initializers, in an attribute of a node,
and in the graphs and functions within.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.onnx.opening import opened
from beam_ensembles.handlers.support.file_bytes import FileBytes
from beam_ensembles.handlers.support.protobuf_wire import WireError, fields

_EXTERNAL: Final = 1
_DEEPEST: Final = 100
_IN_MEMORY: Final = "MEM_ADDR_"
"""onnxruntime takes the locations ``*/_ORT_MEM_ADDR_/*`` and ``*/_ORT_NATIVE_ENDIAN_MEM_ADDR_/*`` for addresses."""
_TENSOR: Final = "tensor"
_PARTS: Final[dict[str, dict[int, str]]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: _TENSOR, 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: _TENSOR, 6: "graph", 10: _TENSOR, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: _TENSOR, 2: _TENSOR},
}
"""What a message of each kind holds in which field, as far as there are tensors in it."""


def weight_files(path: str) -> tuple[str, ...]:
    """Returns the names of the files in which a model keeps its weights, relative to its folder.

    Raises:
        ModelFormatError: It is not an ONNX model, or names a file outside of its folder, or
            an address in memory.
        OSError: It cannot be read.
    """
    if os.path.getsize(path) == 0:
        return ()
    with opened(path) as data:
        found = dict.fromkeys(_locations(data, "model", 0, len(data), 0))
    names = tuple(_inside(name) for name in found)
    for name in names:
        _refuse_link(path, name)
    return names


def _locations(data: FileBytes, kind: str, start: int, end: int, depth: int) -> Iterator[str]:
    """Walks down to the tensors, and gives the location of each that is in another file."""
    if depth > _DEEPEST:
        raise WireError(f"messages are nested more than {_DEEPEST} deep")
    if kind == _TENSOR:
        yield from _location(data, start, end)
        return
    parts = _PARTS[kind]
    for number, at, to in fields(data, start, end):
        if to >= 0 and number in parts:
            yield from _locations(data, parts[number], at, to, depth + 1)


def _location(data: FileBytes, start: int, end: int) -> Iterator[str]:
    """Reads a TensorProto: data_location 14, external_data 13, whose entries are of a key 1 and a value 2."""
    is_external, locations = False, []
    for number, at, to in fields(data, start, end):
        if number == 14 and to < 0:
            is_external = at == _EXTERNAL
        elif number == 13 and to >= 0:
            pair = {
                field: data[first:last].decode() for field, first, last in fields(data, at, to) if last >= 0
            }
            if pair.get(1) == "location":
                locations.append(pair.get(2, ""))
    # A message may come in pieces, so that the location stands in another than the word that the tensor is external.
    yield from locations or ([""] if is_external else [])


def _inside(name: str) -> str:
    if _IN_MEMORY in name or "*" in name.split("/"):
        text = f"the model keeps weights in '{name}', which stands for an address in memory"
        raise ModelFormatError(f"{text}; save them in the model or beside it")
    found = os.path.normpath(name) if name else ""
    if not found or os.path.isabs(found) or found.split(os.sep)[0] in (os.curdir, os.pardir) or "\\" in found:
        text = f"the model keeps weights in '{name}', which is outside of its folder"
        raise ModelFormatError(f"{text}; save them beside it")
    return found


def _refuse_link(path: str, name: str) -> None:
    """Refuses a symbolic link out of the folder; caches link the model and its weights to one other folder."""
    found = os.path.realpath(os.path.join(os.path.dirname(path), name))
    folders = (os.path.realpath(os.path.dirname(path)), os.path.dirname(os.path.realpath(path)))
    if not any(found.startswith(os.path.join(folder, "")) for folder in folders):
        text = f"the model keeps weights in '{name}', a link to a place outside of its folder"
        raise ModelFormatError(f"{text}; save them beside it")
