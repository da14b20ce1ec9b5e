"""The encoders of an ONNX graph that fail for a category that they do not know: what they read, what they know."""

from __future__ import annotations

import dataclasses
import mmap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.categories import rows_of_unknown

_NAME: Final = "OneHotEncoder"
_SAID: Final = "Unknown Category and zeros = 0"
_SELECTS: Final = ("Gather", "ArrayFeatureExtractor")
_KEEPS: Final = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast")


@dataclasses.dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder that reads an input of its graph as it comes.

    Attributes:
        port: The input.
        place: Which of the input's columns it reads; None: the only one.
        known: Its categories.
    """

    port: str
    place: int | None
    known: tuple[Any, ...]


def strict_encoders(path: str) -> tuple[Encoder, ...]:
    """Reads a model's encoders that fail for an unknown category. Needs the package ``onnx``.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data.find(_NAME.encode()) < 0:
            return ()
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    return tuple(_encoders(graph, onnx))


def _encoders(graph: Any, onnx: Any) -> Iterator[Encoder]:
    makers = {name: node for node in graph.node for name in node.output}
    constants = {one.name: one for one in graph.initializer}
    for node in graph.node:
        attributes = {one.name: one for one in node.attribute}
        if node.op_type != _NAME or "zeros" not in attributes or attributes["zeros"].i:
            continue
        texts = attributes["cats_strings"].strings if "cats_strings" in attributes else ()
        numbers = attributes["cats_int64s"].ints if "cats_int64s" in attributes else ()
        name, place = node.input[0], None
        for _ in makers:
            maker = makers.get(name)
            if maker is None or maker.op_type not in (*_SELECTS, *_KEEPS):
                break
            if maker.op_type in _SELECTS and maker.input[1] in constants:
                chosen = onnx.numpy_helper.to_array(constants[maker.input[1]]).ravel()
                place = int(chosen[0]) if len(chosen) == 1 else place
            name = maker.input[0]
        if name not in makers:
            yield Encoder(name, place, (*(text.decode() for text in texts), *numbers))


def unknown_categories(
    node: CheckedNode, encoders: tuple[Encoder, ...], error: Exception, columns: Columns
) -> Mapping[int, NodeError]:
    """Returns the error of each row of a batch that a graph's encoders failed on; none where they did not.

    Raises:
        NodeError: ``unknown_category``: one failed, but which row's value is not known.
    """
    if _SAID not in str(error):
        return {}
    found: dict[int, NodeError] = {}
    for encoder in reversed(encoders):
        column = _column(node, encoder)
        if column is not None:
            found |= rows_of_unknown(columns, column, encoder.known)
    if not found:
        text = "the row has a category that an encoder of the graph does not know, and that it was not made to ignore"
        raise NodeError("unknown_category", text) from None
    return found


def _column(node: CheckedNode, encoder: Encoder) -> str | None:
    columns, ports = node.spec.columns, node.spec.inputs.ports if node.spec.inputs is not None else None
    if ports is not None:
        return dict(zip(ports, columns, strict=True)).get(encoder.port)
    if len(columns) == 1:
        return columns[0]
    return columns[encoder.place] if encoder.place is not None and encoder.place < len(columns) else None
