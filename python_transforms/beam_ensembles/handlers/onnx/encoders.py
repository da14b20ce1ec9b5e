"""The encoders of an ONNX graph that fail for a category that they do not know: what they read, what they know."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.onnx.opening import opened
from beam_ensembles.handlers.onnx.operators import uses
from beam_ensembles.handlers.support.file_bytes import FileBytes
from beam_ensembles.handlers.support.protobuf_wire import Span, spans
from beam_ensembles.handlers.support.unknown_categories import rows_of_unknown
from beam_ensembles.interruption import checkpoint

_NAME: Final = "OneHotEncoder"
_MAPPERS: Final = ("LabelEncoder", "CategoryMapper")
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
        ModelFormatError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    if not uses(path, (_NAME,)):
        return ()
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    return tuple(_encoders(graph, onnx))


def _encoders(graph: Any, onnx: Any) -> Iterator[Encoder]:
    makers = {name: node for node in graph.node for name in node.output}
    constants = {one.name: one for one in graph.initializer}

    def behind(name: str) -> tuple[str, int | None] | None:
        maker = makers.get(name)
        if maker is None or maker.op_type not in (*_SELECTS, *_KEEPS) or not maker.input:
            return None
        place = None
        if maker.op_type in _SELECTS and len(maker.input) > 1 and maker.input[1] in constants:
            chosen = onnx.numpy_helper.to_array(constants[maker.input[1]]).ravel()
            place = int(chosen[0]) if len(chosen) == 1 else None
        return maker.input[0], place

    sources = Sources(behind)
    for node in graph.node:
        attributes = {one.name: one for one in node.attribute}
        if node.op_type != _NAME or "zeros" not in attributes or attributes["zeros"].i:
            continue
        texts = attributes["cats_strings"].strings if "cats_strings" in attributes else ()
        numbers = attributes["cats_int64s"].ints if "cats_int64s" in attributes else ()
        name, place = sources.of(next(iter(node.input), ""))
        if name not in makers:
            yield Encoder(name, place, (*(text.decode() for text in texts), *numbers))


class Sources:
    """What values were before operators that only select or keep them; each operator is looked at once.

    Args:
        behind: Returns what such an operator's result is made of, and which of its columns, if it says one; None where
            another operator makes it, or none.
    """

    def __init__(self, behind: Callable[[str], tuple[str, int | None] | None]) -> None:
        self._behind = behind
        self._known: dict[str, tuple[str, int | None]] = {}

    def of(self, name: str) -> tuple[str, int | None]:
        """Returns the name of the value that a value comes from, and which of its columns; None: all or unknown."""
        way: list[tuple[str, int | None]] = []
        while name not in self._known and (found := self._behind(name)) is not None:
            checkpoint()
            self._known[name] = name, None  # ends the walk where a result is made of itself
            way.append((name, found[1]))
            name = found[0]
        source, place = self._known.get(name, (name, None))
        for passed, own in reversed(way):
            place = own if place is None else place
            self._known[passed] = source, place
        return source, place


def inputs_of_silent_mappers(path: str) -> tuple[str, ...]:
    """Returns the inputs of a graph whose unknown categories become a code without a word, and that does not say which.

    The standard makes -1 of them, "_Unused" or 0: so does a graph that was made of an encoder which fails for them.

    Raises:
        ModelFormatError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    with opened(path) as data:
        graph = next(spans(data, (0, len(data)), 7), None)
        nodes = [_Node.read(data, span) for span in spans(data, graph, 1)]
    makers = {name: node for node in nodes for name in node.outputs}

    def behind(name: str) -> tuple[str, int | None] | None:
        maker = makers.get(name)
        if maker is None or maker.operator not in (*_SELECTS, *_KEEPS):
            return None
        return next(iter(maker.inputs), ""), None

    found, sources = [], Sources(behind)
    for node in nodes:
        if node.operator not in _MAPPERS or any(name.startswith("default_") for name in node.attributes):
            continue
        name, _ = sources.of(next(iter(node.inputs), ""))
        if name not in makers:
            found.append(name)
    return tuple(dict.fromkeys(found))


@dataclasses.dataclass(frozen=True, slots=True)
class _Node:
    """A NodeProto: what it reads (1) and gives (2), its operator (4), the names (1) of its attributes (5)."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operator: str
    attributes: tuple[str, ...]

    @classmethod
    def read(cls, data: FileBytes, span: Span) -> _Node:
        def texts(field: int, of: Span = span) -> tuple[str, ...]:
            return tuple(data[at:to].decode() for at, to in spans(data, of, field))

        names = (name for attribute in spans(data, span, 5) for name in texts(1, attribute))
        return cls(texts(1), texts(2), "".join(texts(4)), tuple(names))


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
