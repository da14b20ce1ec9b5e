"""Finds what a SavedModel may do besides computing, without TensorFlow.

Only listed operations are allowed (``operations.txt``), in the graph and in every function of its library, whether
anything calls them or not. Two kinds of operation on files are in ordinary models, and are allowed only where the
loader feeds their path:

* Those of the saver (``SaveV2``, ``RestoreV2``, ``MergeV2Checkpoints``), in functions that nothing names but the saver.
  TensorFlow's Python loader does not call these functions.
* ``InitializeTableFromTextFileV2`` in a table's initializer, of a path that is an asset in the model's own folder.

Field numbers are those of TensorFlow's protocol buffers: MetaGraphDef.graph_def is 2, asset_file_def 6 (its filename
2), object_graph_def 7; GraphDef.node 1, library 2 (its function 1); FunctionDef.signature 1, node_def 3; OpDef.name 1,
input_arg 2 (its name 1); NodeDef.op 2, input 3; SavedObjectGraph.nodes 1, concrete_functions 2 (a map);
SavedConcreteFunction.bound_inputs 2; SavedObject's kinds 4 to 10 and 12, of which an asset is 5.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Final

from beam_ensembles.handlers.support.file_bytes import FileBytes
from beam_ensembles.handlers.support.protobuf_wire import Span, WireError, fields, packed, spans
from beam_ensembles.handlers.tensorflow.operations import computing

_OF_SAVER: Final = frozenset((b"SaveV2", b"RestoreV2", b"MergeV2Checkpoints"))
_OF_TEXT_TABLE: Final = frozenset((b"InitializeTableFromTextFile", b"InitializeTableFromTextFileV2"))
_SWAPS: Final = b"api_implements"
"""The attribute by which TensorFlow's optimizer calls one function instead of another."""
_LIKE_AN_OPERATION: Final = re.compile(rb"_?[A-Z>]")
"""How the names of TensorFlow's own operations begin; a function may not take such a name."""
_MOST: Final = 64
"""Functions on files that a model may have: each name is looked for in the whole graph. The saver has two or three."""
_LONGEST: Final = 100
"""Characters of a name that are shown."""
_KINDS: Final = frozenset((4, 5, 6, 7, 8, 9, 10, 12))
_ASSET: Final = 5


@dataclasses.dataclass(frozen=True, slots=True)
class _Node:
    operation: bytes
    inputs: tuple[bytes, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Function:
    name: bytes
    arguments: tuple[bytes, ...]
    nodes: tuple[_Node, ...]
    span: Span

    def has(self, operations: frozenset[bytes]) -> bool:
        return any(node.operation in operations for node in self.nodes)


def unsafe_parts(data: FileBytes, graphs: Sequence[Span]) -> tuple[str, ...]:
    """Returns what of a SavedModel may do more than compute, for people: operations, functions, assets.

    Args:
        data: The bytes of ``saved_model.pb``.
        graphs: Where its meta graphs are.

    Raises:
        WireError: The bytes are not meta graphs.
        UnicodeDecodeError: A name is not UTF-8.
    """
    found = {part for graph in graphs for part in _unsafe(data, graph, is_alone=len(graphs) == 1)}
    return tuple(sorted({part[:_LONGEST] for part in found}))


def _unsafe(data: FileBytes, graph: Span, *, is_alone: bool) -> Iterator[str]:
    definition, objects = _only(data, graph, 2), _only(data, graph, 7)
    functions = _functions(data, definition)
    names = {function.name for function in functions}
    nodes = [_node(data, span) for span in spans(data, definition, 1)]
    for node in (*nodes, *(node for function in functions for node in function.nodes)):
        if not _is_allowed(node.operation, names):
            yield node.operation.decode()
    if objects is None or not is_alone:  # TensorFlow 1: the loader runs nodes of the graph itself
        found = {node.operation for node in (*nodes, *(node for one in functions for node in one.nodes))}
        yield from (operation.decode() for operation in found & (_OF_SAVER | _OF_TEXT_TABLE))
    else:
        yield from _misplaced_saver(data, functions, objects)
        yield from _misplaced_tables(data, functions, objects)
    for asset in spans(data, graph, 6):
        name = _text(data, asset, 2).decode()
        if any(part in ("", ".", "..") for part in name.split("/")):
            yield f"the asset '{name}' out of its folder"


def _is_allowed(operation: bytes, functions: set[bytes]) -> bool:
    if operation in functions:
        return _LIKE_AN_OPERATION.match(operation) is None
    return operation in computing() or operation in _OF_SAVER or operation in _OF_TEXT_TABLE


def _misplaced_saver(data: FileBytes, functions: Sequence[_Function], objects: Span) -> Iterator[str]:
    """Yields the functions that read or write files of variables and that more than the saver may call.

    A name counts wherever its bytes stand, so that no way of naming a function is overlooked.
    """
    savers = {function.name: function for function in functions if function.has(_OF_SAVER)}
    new = list(savers)
    while new and len(savers) <= _MOST:
        others = [function for function in functions if function.name not in savers]
        new_ones = [one for one in others if any(_mentions(data, one.span, name) for name in new)]
        savers |= {one.name: one for one in new_ones}
        new = [one.name for one in new_ones]
    if len(savers) > _MOST:
        yield f"{len(savers)} functions on files of variables"
        return
    for function in savers.values():
        if _mentions(data, objects, function.name) or _mentions(data, function.span, _SWAPS):
            found = {node.operation for node in function.nodes} & _OF_SAVER
            yield " and ".join(sorted(one.decode() for one in found)) or function.name.decode()


def _misplaced_tables(data: FileBytes, functions: Sequence[_Function], objects: Span) -> Iterator[str]:
    """Yields the operations that fill a table from a file other than an asset of the model."""
    readers = [function for function in functions if function.has(_OF_TEXT_TABLE)]
    if len(readers) > _MOST:
        yield f"{len(readers)} functions on files of tables"
        return
    if not readers:
        return
    bound, assets = _bound(data, objects), _assets(data, objects)
    for function in readers:
        captured = bound.get(function.name, ())
        is_called = any(
            _mentions(data, other.span, function.name) for other in functions if other is not function
        )
        given = dict(zip(function.arguments, captured, strict=False))
        for node in function.nodes:
            if node.operation in _OF_TEXT_TABLE and (
                is_called
                or len(captured) != len(function.arguments)
                or len(node.inputs) < 2
                or given.get(node.inputs[1]) not in assets
            ):
                yield node.operation.decode()


def _functions(data: FileBytes, definition: Span | None) -> list[_Function]:
    found = [
        _function(data, function)
        for library in spans(data, definition, 2)
        for function in spans(data, library, 1)
    ]
    if len({function.name for function in found}) < len(found) or any(not one.name for one in found):
        raise WireError("functions without names of their own")
    return found


def _function(data: FileBytes, span: Span) -> _Function:
    signature = _only(data, span, 1)
    arguments = tuple(_text(data, argument, 1) for argument in spans(data, signature, 2))
    nodes = tuple(_node(data, node) for node in spans(data, span, 3))
    return _Function(_text(data, signature, 1), arguments, nodes, span)


def _node(data: FileBytes, span: Span) -> _Node:
    inputs = tuple(data[start:end] for start, end in spans(data, span, 3))
    return _Node(_text(data, span, 2), inputs)


def _bound(data: FileBytes, objects: Span) -> dict[bytes, tuple[int, ...]]:
    """Returns the objects that each function captures, by the function's name."""
    found: dict[bytes, tuple[int, ...]] = {}
    for entry in spans(data, objects, 2):
        name, function = _text(data, entry, 1), _only(data, entry, 2)
        if name in found:
            raise WireError("a function that is described twice")
        found[name] = tuple(_numbers(data, function, 2))
    return found


def _assets(data: FileBytes, objects: Span) -> set[int]:
    """Returns which objects are assets, and nothing else."""
    return {
        at
        for at, node in enumerate(spans(data, objects, 1))
        if [number for number, _, _ in fields(data, *node) if number in _KINDS] == [_ASSET]
    }


def _mentions(data: FileBytes, span: Span, name: bytes) -> bool:
    return data.find(name, *span) >= 0


def _numbers(data: FileBytes, span: Span | None, wanted: int) -> Iterator[int]:
    """Yields a field's numbers, packed or one by one."""
    for number, value, end in fields(data, *(span or (0, 0))):
        if number == wanted:
            yield from (value,) if end < 0 else packed(data, value, end)


def _only(data: FileBytes, span: Span | None, wanted: int) -> Span | None:
    """Returns the only value of a field, or None. Of two, readers of protocol buffers take the last, or both."""
    found = list(spans(data, span, wanted))
    if len(found) > 1:
        raise WireError(f"field {wanted} twice before byte {found[1][0]}")
    return found[0] if found else None


def _text(data: FileBytes, span: Span | None, wanted: int) -> bytes:
    found = _only(data, span, wanted)
    return b"" if found is None else data[found[0] : found[1]]
